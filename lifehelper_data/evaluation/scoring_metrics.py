"""Means with their intervals and denominators, per system, metric and slice."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lifehelper_data.evaluation.cases import Case
from lifehelper_data.evaluation.statistics.comparison import MetricRule
from lifehelper_data.evaluation.statistics.slices import summarise_slices
from lifehelper_data.evaluation.statistics.summary import MetricSummary, summarise
from lifehelper_data.evaluation.suite import REFERENCE_NAMES, Metric, Suite
from lifehelper_data.settings import EvaluationSettings
from lifehelper_data.stores.eval_rows import MetricRow, ScoreRow, ScoreStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One metric of one system over all units, in the order of cases and units.

    Attributes:
        values: float64 (n,); NaN where it is undefined or missing.
        missing: bool (n,): there is no output.
        keys: (n,) case id and unit id.
        families: (n,) family of the case.
        slices: (n,) slice name -> value.
    """

    values: npt.NDArray[np.float64]
    missing: npt.NDArray[np.bool_]
    keys: tuple[tuple[str, str], ...]
    families: tuple[str, ...]
    slices: tuple[dict[str, str], ...]

    @classmethod
    def of(cls, rows: Sequence[ScoreRow], cases: Sequence[Case]) -> "Column":
        """Return the column of some score rows of one metric and system."""
        values = [np.nan if row.value is None else row.value for row in rows]
        return cls(
            values=np.array(values, dtype=np.float64),
            missing=np.array([row.status == ScoreStatus.MISSING for row in rows], dtype=np.bool_),
            keys=tuple((row.case_id, row.unit) for row in rows),
            families=tuple(cases[row.seq].family for row in rows),
            slices=tuple(_slices(cases[row.seq], row.unit) for row in rows),
        )


def family_numbers(families: Sequence[str]) -> npt.NDArray[np.int64] | None:
    """Number families in the order they are met; None if each has one unit.

    >>> family_numbers(["b", "a", "b"]).tolist(), family_numbers(["a", "b"])
    ([0, 1, 0], None)
    """
    numbers: dict[str, int] = {}
    found = np.array([numbers.setdefault(f, len(numbers)) for f in families], dtype=np.int64)
    return found if len(numbers) < len(families) else None


def configured_rule(metric: Metric, suite: str, settings: EvaluationSettings) -> MetricRule:
    """Return a metric's rule with the margin of the settings, if they have one."""
    margin = settings.margins.get(f"{suite}.{metric.name}")
    return metric.rule if margin is None else replace(metric.rule, margin=margin)


def columns_of(cases: Sequence[Case], scores: Sequence[ScoreRow]) -> dict[tuple[str, str], Column]:
    """Return the columns by (system, metric), in the order of the rows."""
    rows: dict[tuple[str, str], list[ScoreRow]] = {}
    for row in scores:
        rows.setdefault((row.system, row.metric), []).append(row)
    return {key: Column.of(found, cases) for key, found in rows.items()}


def slice_labels(slices: Sequence[dict[str, str]]) -> Iterator[tuple[str, list[str | None]]]:
    """Yield name and (n,) value of every slice name, by name; None where a unit has none.

    >>> list(slice_labels([{"kind": "a"}, {}, {"kind": "b"}]))
    [('kind', ['a', None, 'b'])]
    """
    for name in sorted({name for each in slices for name in each}):
        yield name, [each.get(name) for each in slices]


def metric_rows(
    suite: Suite,
    cases: Sequence[Case],
    scores: Sequence[ScoreRow],
    systems: Sequence[str],
    *,
    seed: int,
    resamples: int,
) -> list[MetricRow]:
    """Return the summaries, per system and metric: all units first, then every slice.

    Reference systems have no slices. Units of one family are resampled together.
    """
    columns = columns_of(cases, scores)
    return [
        row
        for system in systems
        for metric in suite.metrics
        for row in _rows(system, metric, columns[system, metric.name], seed, resamples)
    ]


def _rows(
    system: str, metric: Metric, column: Column, seed: int, resamples: int
) -> Iterator[MetricRow]:
    clusters = family_numbers(column.families)
    whole = summarise(
        column.values,
        column.missing,
        rule=metric.rule,
        clusters=clusters,
        seed=seed,
        resamples=resamples,
    )
    yield _row(system, whole)
    if system in REFERENCE_NAMES:
        return
    for name, labels in slice_labels(column.slices):
        for part in summarise_slices(
            column.values,
            column.missing,
            name=name,
            labels=labels,
            rule=metric.rule,
            clusters=clusters,
            seed=seed,
            resamples=resamples,
        ):
            yield _row(system, part.summary, name, part.value, part.warning)


def _row(
    system: str,
    summary: MetricSummary,
    slice_name: str = "",
    slice_value: str = "",
    few: str | None = None,
) -> MetricRow:
    counts, interval = summary.counts, summary.interval
    warnings = [few, None if interval is None else interval.warning]
    return MetricRow(
        system=system,
        reference=system in REFERENCE_NAMES,
        metric=summary.rule.name,
        slice_name=slice_name,
        slice_value=slice_value,
        mean=summary.mean,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        method=None if interval is None else interval.method,
        warning="; ".join(warning for warning in warnings if warning) or None,
        evaluated=counts.evaluated,
        undefined=counts.undefined,
        missing=counts.missing,
        total=counts.total,
    )


def _slices(case: Case, unit: str) -> dict[str, str]:
    own = next((u.slices for u in case.units if u.unit_id == unit), {})
    return {**case.slices, **own}
