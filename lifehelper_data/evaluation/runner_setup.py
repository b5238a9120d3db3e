"""What stands before a run: release, systems, cases, pins."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.domain.ports import Progress
from lifehelper_data.evaluation.cases import Case, CaseSet
from lifehelper_data.evaluation.cases_file import read_cases
from lifehelper_data.evaluation.runs import case_of, pins_of, users_of
from lifehelper_data.evaluation.suite import Generate, NotApplicable, Suite, SuiteContext
from lifehelper_data.runtime.workspace import Workspace, release_settings
from lifehelper_data.settings import EvaluationSettings, Settings
from lifehelper_data.stores.eval_records import Json, RunPins, RunRecord
from lifehelper_data.stores.eval_runs import EvalRuns
from lifehelper_data.stores.releases import ReleaseRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the caller wants of a run.

    Attributes:
        evaluation: seed, sample, resamples, chunk size.
        settings: tunables to try; None takes those the release was built with.
        release: the release to pin.
        cases_file: the user's cases instead of the suite's own.
        label: what the run is called.
        max_cost: cost from which on nothing more is generated; one call may go over it.
    """

    evaluation: EvaluationSettings
    settings: Settings | None = None
    release: ReleaseRef = "current"
    cases_file: Path | None = None
    label: str | None = None
    max_cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """Systems of a suite on one release: the references first, as they are generated."""

    systems: Mapping[str, Generate]
    not_applicable: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the order they are asked."""
        return tuple(self.systems)

    def of(self, names: tuple[str, ...]) -> dict[str, Generate]:
        """Return the systems a run pinned; InvalidRequest if one cannot be opened any more."""
        gone = [name for name in names if name not in self.systems]
        if gone:
            reason = self.not_applicable.get(gone[0], "the suite no longer has it")
            raise InvalidRequest(
                f"system {gone[0]!r} of the run is gone: {reason}; start a new run"
            )
        return {name: self.systems[name] for name in names}


@contextmanager
def open_context(runs: EvalRuns, suite: Suite, asked: Asked) -> Iterator[SuiteContext]:
    """Pin the release a suite reads, for as long as the block lasts.

    Raises:
        NotFound, Unavailable: the release cannot be had.
    """
    users = users_of(runs.layout, asked.evaluation)
    if not suite.reads_release:
        yield SuiteContext(workspace=None, evaluation=asked.evaluation, users=users)
        return
    with Workspace.open(
        runs.layout.root, asked.release, settings=asked.settings, clock=runs.clock
    ) as workspace:
        yield SuiteContext(workspace=workspace, evaluation=asked.evaluation, users=users)


def open_systems(suite: Suite, context: SuiteContext, progress: Progress) -> Opened:
    """Load every system and reference of a suite.

    Raises:
        InvalidRequest: no system under test applies here.
    """
    systems: dict[str, Generate] = {}
    absent: dict[str, str] = {}
    for name, opener in (*suite.references.items(), *suite.systems.items()):
        progress.step(f"{suite.name}: loading {name}", 0, None)
        system = opener if isinstance(opener, NotApplicable) else opener(context)
        if isinstance(system, NotApplicable):
            absent[name] = system.reason
        else:
            systems[name] = system
    if not set(systems) & set(suite.systems):
        raise InvalidRequest(
            f"suite {suite.name!r} has nothing to ask: "
            + "; ".join(f"{name}: {absent[name]}" for name in suite.systems)
        )
    return Opened(systems=systems, not_applicable=absent)


def case_set(suite: Suite, file: Path | None, context: SuiteContext) -> CaseSet:
    """Return the user's cases, or without a file the suite's own.

    Raises:
        NotFound, InvalidRequest: the file is absent or bad, or there is no case.
    """
    if file is not None:
        if suite.user_cases is None:
            raise InvalidRequest(f"suite {suite.name!r} takes no file of cases", field="cases")
        mine = suite.user_cases
        found = read_cases(file, mine.model, mine.to_case, schema=f"{suite.name}-cases")
        return replace(found, notes=found.notes + mine.notes(context, found))
    if suite.make_cases is None:
        raise InvalidRequest(
            f"suite {suite.name!r} has no cases of its own; bring them with --cases FILE (format: "
            f"`lifehelper schema {suite.name}-cases`)",
            field="cases",
        )
    cases = suite.make_cases(context)
    if not cases.cases:
        raise InvalidRequest(
            f"suite {suite.name!r} found no case to make from this release: "
            + ("; ".join(cases.notes) or "it holds nothing to ask about")
        )
    return cases


def cases_again(
    runs: EvalRuns, suite: Suite, record: RunRecord, asked: Asked, context: SuiteContext
) -> tuple[Case, ...]:
    """Return a run's cases: the stored ones, or made again where user ids were hidden.

    Raises:
        InvalidRequest: the cases made again are not those the run pinned.
    """
    if not record.facts["users_hidden"]:
        return tuple(case_of(row) for row in runs.cases(record.run_id))
    cases = case_set(suite, asked.cases_file, context)
    hidden = tuple(case.hidden(context.users) for case in cases.cases)
    if replace(cases, cases=hidden).digest != record.pins.case_set:
        raise InvalidRequest(
            f"these are not the cases of eval run {record.run_id!r}; give the file it was begun "
            "with (--cases), or start a new run",
            field="cases",
        )
    return cases.cases


def run_pins(
    suite: Suite, hidden: CaseSet, context: SuiteContext, asked: Asked, opened: Opened
) -> RunPins:
    """Return the pins of a run whose cases, user ids hidden, are `hidden`."""
    workspace = context.workspace
    return pins_of(
        suite=suite.name,
        case_set=hidden.digest,
        seed=asked.evaluation.seed,
        release=None if workspace is None else workspace.release,
        settings=_settings(workspace, asked),
        systems=opened.names,
    )


def _settings(workspace: Workspace | None, asked: Asked) -> Settings:
    """Return the settings a run works with: those asked for, or those of the release."""
    if asked.settings is not None:
        return asked.settings
    return Settings() if workspace is None else release_settings(workspace.release)


def facts_of(
    suite: Suite, cases: CaseSet, hidden: list[Case], asked: Asked, opened: Opened
) -> dict[str, Json]:
    """Return what a run says about itself beside its pins."""
    return {
        "question": suite.question,
        "data": str(cases.kind),
        "cases_file": None if asked.cases_file is None else asked.cases_file.name,
        "users_hidden": [c.digest for c in hidden] != [c.digest for c in cases.cases],
        "repeats": [
            {"case_id": r.case_id, "kept": r.kept, "reason": r.reason} for r in cases.repeats
        ],
        "notes": list(cases.notes),
        "not_applicable": dict(opened.not_applicable),
    }
