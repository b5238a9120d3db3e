"""Opening failures: the worst cases of a run, and everything stored about one case."""

from collections.abc import Sequence
from dataclasses import dataclass

from lifehelper_data.domain.errors import NotFound
from lifehelper_data.evaluation.suite import Suite
from lifehelper_data.stores.eval_records import RunRecord
from lifehelper_data.stores.eval_rows import CaseRow, OutputRow, ScoreRow, ScoreStatus
from lifehelper_data.stores.eval_runs import EvalRuns
from lifehelper_data.stores.eval_scores import Scoring, load_scoring


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One bad case of one system.

    Attributes:
        case: the case.
        score: its row of the first primary metric.
    """

    case: CaseRow
    score: ScoreRow


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseView:
    """Everything a run stored about one case.

    Attributes:
        case: the case.
        outputs: one per system that answered, in the order of the systems.
        scores: all rows of the newest scoring.
    """

    case: CaseRow
    outputs: tuple[OutputRow, ...]
    scores: tuple[ScoreRow, ...]


def worst_cases(
    runs: EvalRuns,
    suite: Suite,
    scoring: Scoring,
    run_id: str,
    *,
    count: int,
    system: str | None = None,
) -> list[Failure]:
    """Return the cases that did worst on the first primary metric.

    Missing ones come first, then values from the worst on; ties: order of the cases, then units.
    Undefined ones and those with the best value a metric can have are no failures.

    Args:
        runs: the store.
        suite: the run's suite.
        scoring: the scoring to look at.
        run_id: the run.
        count: how many at most.
        system: whose; None: the one in service.

    Raises:
        NotFound: the run has no such system.
    """
    name = system_of(suite, runs.load(run_id), system)
    metric = suite.primary
    sign = 1.0 if metric.rule.higher_is_better else -1.0
    bad = [
        row
        for row in scoring.scores
        if row.system == name
        and row.metric == metric.name
        and row.status != ScoreStatus.UNDEFINED
        and (row.value is None or row.value != metric.best)
    ]
    bad.sort(key=lambda row: (row.value is not None, sign * (row.value or 0.0)))  # stable
    cases = runs.cases(run_id)
    return [Failure(case=cases[row.seq], score=row) for row in bad[:count]]


def look_at_case(runs: EvalRuns, run_id: str, case_id: str) -> CaseView:
    """Return everything a run stored about a case.

    Raises:
        NotFound: it has no such case.
    """
    cases = runs.cases(run_id)
    found = next((case for case in cases if case.case_id == case_id), None)
    if found is None:
        few = ", ".join(repr(case.case_id) for case in cases[:3])
        raise NotFound(
            f"eval run {run_id!r} has no case {case_id!r}; its {len(cases)} cases begin with {few}",
            field="case",
        )
    order = {name: place for place, name in enumerate(runs.load(run_id).pins.systems)}
    outputs = [row for row in runs.outputs(run_id) if row.seq == found.seq]
    return CaseView(
        case=found,
        outputs=tuple(sorted(outputs, key=lambda row: order[row.system])),
        scores=_of_case(load_scoring(runs, run_id).scores, found.seq),
    )


def system_of(suite: Suite, record: RunRecord, name: str | None) -> str:
    """Return the name of a system of a run; without a name the first one in service it has.

    Raises:
        NotFound: the run has no such system.
    """
    asked = record.pins.systems
    chosen = name or next((system for system in suite.systems if system in asked), None)
    if chosen is None or chosen not in asked:
        raise NotFound(
            f"eval run {record.run_id!r} has no system {chosen!r}; it has {', '.join(asked)}",
            field="system",
        )
    return chosen


def _of_case(scores: Sequence[ScoreRow], seq: int) -> tuple[ScoreRow, ...]:
    return tuple(row for row in scores if row.seq == seq)
