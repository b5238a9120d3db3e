"""Evaluation runs: pin, generate in chunks, score what was stored, finish.

A run that was killed goes on where its last chunk ended: the same pins find it, or `resume` does.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from lifehelper_data.code_version import code_hash
from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.domain.ports import NoProgress, Progress
from lifehelper_data.evaluation.cases import Case
from lifehelper_data.evaluation.runner_generate import Budget, generate_missing
from lifehelper_data.evaluation.runner_setup import (
    Asked,
    Opened,
    case_set,
    cases_again,
    facts_of,
    open_context,
    open_systems,
    run_pins,
)
from lifehelper_data.evaluation.runs import case_row, release_pin
from lifehelper_data.evaluation.scoring import score_run
from lifehelper_data.evaluation.suite import Suite
from lifehelper_data.settings import Settings
from lifehelper_data.stores.eval_records import RunRecord, RunStatus
from lifehelper_data.stores.eval_runs import EvalRuns
from lifehelper_data.stores.eval_scores import Scoring
from lifehelper_data.stores.eval_users import UserDigest

Timer = Callable[[], float]
"""Returns seconds that only go up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A run as it stands after this call.

    Attributes:
        record: its head.
        scoring: its newest scoring.
        resumed: outputs that an earlier, unfinished call had stored; None for a new run.
    """

    record: RunRecord
    scoring: Scoring
    resumed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """Runs suites in one workspace.

    Attributes:
        runs: where runs are stored.
        timer: measures how long an answer takes.
        progress: shows how far it is.
    """

    runs: EvalRuns
    timer: Timer
    progress: Progress = field(default_factory=NoProgress)

    def run(self, suite: Suite, asked: Asked) -> Done:
        """Run a suite, or finish the unfinished run of the same pins.

        Raises:
            InvalidRequest: the file of cases is bad, or the suite takes none.
            NotFound, Unavailable: the release or a component cannot be had.
            WorkspaceLocked: another process is writing the same run.
        """
        with open_context(self.runs, suite, asked) as context:
            cases = case_set(suite, asked.cases_file, context)
            opened = open_systems(suite, context, self.progress)
            hidden = [case.hidden(context.users) for case in cases.cases]
            pins = run_pins(suite, replace(cases, cases=tuple(hidden)), context, asked, opened)
            record = self.runs.unfinished(pins.digest)
            resumed = record is not None
            if record is None:
                head = RunRecord(
                    run_id="",
                    created_at=self.runs.clock(),
                    label=asked.label,
                    pins=pins,
                    cases=len(hidden),
                    facts=facts_of(suite, cases, hidden, asked, opened),
                )
                rows = [case_row(seq, case) for seq, case in enumerate(hidden)]
                record = self.runs.create(head, rows)
            return self._finish(
                suite,
                record,
                asked,
                cases=cases.cases,
                users=context.users,
                opened=opened,
                resumed=resumed,
            )

    def resume(self, suite: Suite, run_id: str, asked: Asked) -> Done:
        """Finish a run that was killed or stopped; a complete one keeps all its rows.

        Release, tunables and seed are those the run pinned; of `asked` only `max_cost`, `label`,
        `cases_file` and how the work is done count.

        Raises:
            InvalidRequest: the code, the release or the cases are no longer those of the run.
        """
        record = self.runs.load(run_id)
        pins = record.pins
        if pins.code_hash != code_hash():
            raise InvalidRequest(
                f"eval run {run_id!r} was begun by {pins.code_version!r} and this is other code; "
                "outputs of two versions are not mixed: start a new run",
                field="resume",
            )
        asked = replace(
            asked,
            evaluation=asked.evaluation.model_copy(update={"seed": pins.seed}),
            settings=Settings.model_validate(dict(pins.tunables)),
            release="current" if pins.release is None else pins.release.number,
        )
        with open_context(self.runs, suite, asked) as context:
            workspace = context.workspace
            if workspace is not None and release_pin(workspace.release) != pins.release:
                raise InvalidRequest(
                    f"release {asked.release!r} is not the one eval run {run_id!r} pinned; start "
                    "a new run",
                    field="resume",
                )
            opened = open_systems(suite, context, self.progress)
            cases = cases_again(self.runs, suite, record, asked, context)
            return self._finish(
                suite,
                record,
                asked,
                cases=cases,
                users=context.users,
                opened=opened,
                resumed=True,
            )

    def _finish(
        self,
        suite: Suite,
        record: RunRecord,
        asked: Asked,
        *,
        cases: tuple[Case, ...],
        users: UserDigest,
        opened: Opened,
        resumed: bool,
    ) -> Done:
        """Generate what is missing, score everything, close the head."""
        runs, run_id = self.runs, record.run_id
        record = replace(
            record,
            status=RunStatus.RUNNING,
            finished_at=None,
            max_cost=asked.max_cost,
            label=asked.label or record.label,
        )
        with runs.writing(run_id):
            stored = runs.outputs(run_id)
            runs.save(record)
            stopped = generate_missing(
                runs,
                run_id,
                opened.of(record.pins.systems),
                cases,
                stored,
                title=suite.name,
                budget=Budget(limit=asked.max_cost, spent=sum(row.cost for row in stored)),
                users=users,
                chunk=asked.evaluation.chunk_cases,
                timer=self.timer,
                progress=self.progress,
            )
            self.progress.step(f"{suite.name}: scoring", 0, None)
            scoring = score_run(runs, suite, record, resamples=asked.evaluation.resamples)
            status = RunStatus.STOPPED if stopped else RunStatus.COMPLETE
            record = replace(record, status=status, finished_at=runs.clock())
            runs.save(record)
        return Done(record=record, scoring=scoring, resumed=len(stored) if resumed else None)
