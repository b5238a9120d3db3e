"""From stored outputs to stored numbers. Needs no model, no release and no network.

A run scores itself through the same code as `rescore`: it reads back what it stored.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lifehelper_data.code_version import code_hash, code_version
from lifehelper_data.evaluation.cases import Case
from lifehelper_data.evaluation.runs import case_of, output_of
from lifehelper_data.evaluation.scoring_metrics import metric_rows
from lifehelper_data.evaluation.suite import Metric, Score, Suite, Undefined, Value
from lifehelper_data.stores.eval_records import Json, RunRecord
from lifehelper_data.stores.eval_rows import (
    MetricRow,
    OutputRow,
    ScoreRow,
    ScoreStatus,
    ScoringRecord,
)
from lifehelper_data.stores.eval_runs import EvalRuns
from lifehelper_data.stores.eval_scores import (
    Scoring,
    load_scoring,
    rows_digest,
    save_scoring,
)

NOT_GENERATED = "not generated: the run was stopped before"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricChange:
    """A metric that another scoring of the same outputs sees differently.

    Attributes:
        system: the system.
        metric: the metric.
        before: mean of the earlier scoring; None if it had none.
        after: mean of the new one.
        cases: cases with a different value, status or reason.
    """

    system: str
    metric: str
    before: float | None
    after: float | None
    cases: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescored:
    """Two scorings of the same outputs.

    Attributes:
        run_id: the run.
        before: number of the scoring that was there; None for the first.
        scoring: the scoring that is the newest now.
        changes: what differs; empty if nothing does.
    """

    run_id: str
    before: int | None
    scoring: Scoring
    changes: tuple[MetricChange, ...]

    @property
    def identical(self) -> bool:
        """Whether every number is the same, bit for bit."""
        return self.before == self.scoring.record.number


def rescore(runs: EvalRuns, suite: Suite, run_id: str) -> Rescored:
    """Score a run's stored outputs again, with the seed and resamples of its newest scoring.

    Raises:
        NotFound: there is no such run, or it never came to a scoring.
    """
    record = runs.load(run_id)
    old = load_scoring(runs, run_id)
    with runs.writing(run_id):
        new = score_run(runs, suite, record, resamples=old.record.resamples)
    return Rescored(
        run_id=run_id,
        before=old.record.number,
        scoring=new,
        changes=tuple(_changes(old, new)),
    )


def score_run(runs: EvalRuns, suite: Suite, record: RunRecord, *, resamples: int) -> Scoring:
    """Score what a run has stored and store the scoring. The caller is the run's writer."""
    cases = [case_of(row) for row in runs.cases(record.run_id)]
    scores = score_outputs(suite, cases, runs.outputs(record.run_id), record.pins.systems)
    metrics = metric_rows(
        suite, cases, scores, record.pins.systems, seed=record.pins.seed, resamples=resamples
    )
    require_complete(suite, cases, metrics)
    scoring = Scoring(
        record=ScoringRecord(
            number=0,
            created_at=runs.clock(),
            scorer=suite.scorer,
            code_version=code_version(),
            code_hash=code_hash(),
            seed=record.pins.seed,
            resamples=resamples,
            metrics=tuple(_described(metric) for metric in suite.metrics),
            rows_digest=rows_digest(scores, metrics),
        ),
        scores=tuple(scores),
        metrics=tuple(metrics),
    )
    return save_scoring(runs, record.run_id, scoring)


def score_outputs(
    suite: Suite, cases: Sequence[Case], outputs: Sequence[OutputRow], systems: Sequence[str]
) -> list[ScoreRow]:
    """Return one row per (system, case, metric, unit), in that order.

    Every unit of every case has a row for every system and metric: a case without an output gives
    missing ones.
    """
    found = {(row.system, row.seq): row for row in outputs}
    return [
        score
        for system in systems
        for seq, case in enumerate(cases)
        for score in _case_scores(suite, system, seq, case, found.get((system, seq)))
    ]


def units_of(metric: Metric, case: Case) -> tuple[str, ...]:
    """Return the ids of the units that a metric has in a case; the case itself is ''."""
    return tuple(u.unit_id for u in case.units) if metric.per_unit and case.units else ("",)


def require_complete(suite: Suite, cases: Sequence[Case], metrics: Sequence[MetricRow]) -> None:
    """Refuse numbers in which a unit was lost or counted twice.

    Raises:
        ValueError: a bug: the total of a metric over all cases is not its number of units.
    """
    totals = {m.name: sum(len(units_of(m, case)) for case in cases) for m in suite.metrics}
    for row in metrics:
        if not row.slice_name and row.total != totals[row.metric]:
            raise ValueError(
                f"{row.metric!r} of {row.system!r} accounts for {row.total} units of "
                f"{totals[row.metric]}"
            )


def _case_scores(
    suite: Suite, system: str, seq: int, case: Case, row: OutputRow | None
) -> Iterator[ScoreRow]:
    output = None if row is None else output_of(row)
    score = None if output is None else suite.checked(case, suite.score(case, output))
    for metric in suite.metrics:
        for unit in units_of(metric, case):
            value = None if score is None else _value(score, metric, unit)
            yield ScoreRow(
                system=system,
                seq=seq,
                case_id=case.case_id,
                unit=unit,
                metric=metric.name,
                status=str(_status(value)),
                value=float(value) if isinstance(value, float | int) else None,
                reason=_reason(value, row),
                explanation=None if score is None else score.explanation,
            )


def _reason(value: Value | None, row: OutputRow | None) -> str | None:
    """Say why there is no value; None if there is one."""
    if isinstance(value, Undefined):
        return value.reason
    if value is not None:
        return None
    return NOT_GENERATED if row is None else f"{row.error_type}: {row.error}"


def _value(score: Score, metric: Metric, unit: str) -> Value:
    value = score.values[metric.name]
    return value[unit] if isinstance(value, Mapping) else value


def _status(value: Value | None) -> ScoreStatus:
    if value is None:
        return ScoreStatus.MISSING
    return ScoreStatus.UNDEFINED if isinstance(value, Undefined) else ScoreStatus.EVALUATED


def _described(metric: Metric) -> dict[str, Json]:
    rule = metric.rule
    return {
        "name": rule.name,
        "higher_is_better": rule.higher_is_better,
        "kind": str(rule.kind),
        "gated": rule.gated,
        "margin": rule.margin,
        "primary": metric.primary,
        "per_unit": metric.per_unit,
        "meaning": metric.meaning,
    }


def _changes(old: Scoring, new: Scoring) -> Iterator[MetricChange]:
    def keyed(scoring: Scoring) -> dict[tuple[str, str], dict[tuple[int, str], object]]:
        found: dict[tuple[str, str], dict[tuple[int, str], object]] = {}
        for row in scoring.scores:
            values = found.setdefault((row.system, row.metric), {})
            values[row.seq, row.unit] = (row.status, row.value, row.reason)
        return found

    def means(scoring: Scoring) -> dict[tuple[str, str], float | None]:
        return {(r.system, r.metric): r.mean for r in scoring.metrics if not r.slice_name}

    before, after = keyed(old), keyed(new)
    for key in sorted(before.keys() | after.keys()):
        was, now = before.get(key, {}), after.get(key, {})
        changed = {unit[0] for unit in was.keys() | now.keys() if was.get(unit) != now.get(unit)}
        if changed or means(old).get(key) != means(new).get(key):
            yield MetricChange(
                system=key[0],
                metric=key[1],
                before=means(old).get(key),
                after=means(new).get(key),
                cases=len(changed),
            )
