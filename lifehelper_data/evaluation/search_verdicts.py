"""What a search run says of the quality bars: met or not, and the whole against its legs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from lifehelper_data.domain.errors import NotFound
from lifehelper_data.evaluation.runs import case_of
from lifehelper_data.evaluation.scoring_metrics import Column, columns_of, family_numbers
from lifehelper_data.evaluation.search_systems import K
from lifehelper_data.evaluation.statistics import Comparison, MetricRule, compare
from lifehelper_data.evaluation.suites.search_known_items import (
    CIRCLED,
    DECOMPOSED,
    EXACT,
    MISSPELT,
    SPACELESS,
    WIDE,
)
from lifehelper_data.settings import EvaluationSettings
from lifehelper_data.stores.eval_rows import MetricRow
from lifehelper_data.stores.eval_runs import EvalRuns
from lifehelper_data.stores.eval_scores import Scoring, load_scoring

LEGS: Final = ("keyword", "vector")
FUSED: Final = "fused"
ALL_CASES: Final = "all"
RECALL: Final = f"recall@{K}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A number that a metric must reach.

    Attributes:
        suite: where it is measured.
        system: of which system.
        metric: the metric.
        query_type: on which queries; None: on all.
        at_least: the number.
        target_only: whether it is aimed at and not required.
    """

    suite: str
    system: str
    metric: str
    query_type: str | None
    at_least: float
    target_only: bool = False


BARS: Final = (
    Bar(suite="search", system=FUSED, metric="mrr@10", query_type=EXACT, at_least=0.95),
    Bar(suite="search", system=FUSED, metric="mrr@10", query_type=WIDE, at_least=0.95),
    Bar(suite="search", system=FUSED, metric="mrr@10", query_type=CIRCLED, at_least=0.95),
    Bar(suite="search", system=FUSED, metric="mrr@10", query_type=DECOMPOSED, at_least=0.95),
    Bar(suite="search", system=FUSED, metric=RECALL, query_type=SPACELESS, at_least=0.95),
    Bar(suite="search", system=FUSED, metric=RECALL, query_type=MISSPELT, at_least=0.85),
    Bar(
        suite="search-particles",
        system="search",
        metric=f"keyword_identical@{K}",
        query_type=None,
        at_least=0.95,
    ),
    Bar(
        suite="search-particles",
        system="search",
        metric=f"fused_overlap@{K}",
        query_type=None,
        at_least=0.8,
        target_only=True,
    ),
)
"""Specification of search, "Quality bars". Other spellings of a title are exact titles once they
are normalised, so theirs is the bar of exact titles."""


def bar_table(scorings: Mapping[str, Scoring], bars: Sequence[Bar] = BARS) -> pl.DataFrame:
    """Judge every bar that the runs measured.

    Args:
        scorings: suite -> newest scoring of a run of it.
        bars: the bars.

    Returns:
        One row per bar: measured, queries, required, mean, low, high, evaluated, verdict. Verdicts:
        "met" (the whole interval reaches it), "met, not for certain" (the mean does), "missed, not
        for certain", "missed" (the whole interval lies below), "not measured".
    """
    rows = []
    for bar in bars:
        found = _row(scorings.get(bar.suite), bar)
        rows.append(
            {
                "measured": f"{bar.system} {bar.metric}",
                "queries": bar.query_type or ALL_CASES,
                "required": bar.at_least,
                "mean": found.mean if found else None,
                "low": found.low if found else None,
                "high": found.high if found else None,
                "evaluated": found.evaluated if found else 0,
                "verdict": _verdict(found, bar) + (" (a target)" if bar.target_only else ""),
            }
        )
    return pl.DataFrame(rows)


def _row(scoring: Scoring | None, bar: Bar) -> MetricRow | None:
    wanted = ("query_type", bar.query_type) if bar.query_type else ("", "")
    for row in scoring.metrics if scoring else ():
        if (row.system, row.metric) == (bar.system, bar.metric) and wanted == (
            row.slice_name,
            row.slice_value,
        ):
            return row
    return None


def _verdict(found: MetricRow | None, bar: Bar) -> str:
    if found is None or found.mean is None:
        return "not measured"
    reached = found.mean >= bar.at_least
    end = found.low if reached else found.high
    certain = end is not None and (end >= bar.at_least) == reached
    return ("met" if reached else "missed") + ("" if certain else ", not for certain")


def system_table(scoring: Scoring, metrics: Sequence[str], slice_name: str = "") -> pl.DataFrame:
    """Return the metrics of every system, one row per system, metric and slice value.

    Args:
        scoring: a scoring of a run.
        metrics: which metrics.
        slice_name: by which slices; "" for all cases.

    Returns:
        Columns: system, metric, queries (the slice), mean, low, high, evaluated, undefined,
        missing; in the order of the scoring.
    """
    schema = {
        "system": pl.String,
        "metric": pl.String,
        "queries": pl.String,
        "mean": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "evaluated": pl.Int64,
        "undefined": pl.Int64,
        "missing": pl.Int64,
    }
    rows = [
        (r.system, r.metric, r.slice_value or ALL_CASES, r.mean, r.low, r.high, r.evaluated,
         r.undefined, r.missing)
        for r in scoring.metrics
        if r.metric in metrics and r.slice_name == slice_name
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def fused_against_legs(
    runs: EvalRuns,
    run_id: str,
    *,
    settings: EvaluationSettings,
    metric: str = RECALL,
    slice_name: str = "query_type",
    margin: float = 0.02,
) -> pl.DataFrame:
    """Compare the whole search with its better leg, paired on the same cases.

    The better leg is the one with the higher mean on the cases at hand (ties: keyword), so it is
    chosen with hindsight, which is the harder yardstick.

    Args:
        runs: the store.
        run_id: a run of the search suite.
        settings: seed and resamples.
        metric: what is compared.
        slice_name: the slices that are looked at besides all cases.
        margin: smallest difference that matters.

    Returns:
        One row for all cases, then one per slice value: queries, better_leg, leg_mean, fused_mean,
        effect (fused - leg), low, high, pairs, verdict, holds. `holds` is False where the fused
        mean is lower and the whole interval of the effect lies below 0.

    Raises:
        NotFound: the run lacks the fused system or has no leg.
    """
    cases = [case_of(row) for row in runs.cases(run_id)]
    columns = columns_of(cases, load_scoring(runs, run_id).scores)
    fused = columns.get((FUSED, metric))
    legs = {leg: columns[leg, metric] for leg in LEGS if (leg, metric) in columns}
    if fused is None or not legs:
        raise NotFound(
            f"eval run {run_id!r} has no {FUSED!r} with {metric!r} beside a leg; run the search "
            "suite on a release with indexes",
            field="run",
        )
    rule = MetricRule(name=metric, higher_is_better=True, margin=margin, gated=False, kind="mean")
    rows = []
    for name, members in _groups(fused, slice_name):
        leg, found = _against_better(fused, legs, members, rule, settings)
        interval = found.interval
        broken = interval is not None and interval.high < 0
        rows.append(
            {
                "queries": name,
                "better_leg": leg,
                "leg_mean": found.base_mean,
                "fused_mean": found.new_mean,
                "effect": found.effect,
                "low": interval.low if interval else None,
                "high": interval.high if interval else None,
                "pairs": found.counts.evaluated,
                "verdict": str(found.verdict),
                "holds": not broken,
            }
        )
    return pl.DataFrame(rows)


def _groups(column: Column, slice_name: str) -> Iterator[tuple[str, list[int]]]:
    yield ALL_CASES, list(range(len(column.values)))
    labels = [each.get(slice_name) for each in column.slices]
    for label in sorted({label for label in labels if label is not None}):
        yield label, [at for at, each in enumerate(labels) if each == label]


def _against_better(
    fused: Column,
    legs: Mapping[str, Column],
    members: list[int],
    rule: MetricRule,
    settings: EvaluationSettings,
) -> tuple[str, Comparison]:
    def mean(leg: str) -> float:
        values = legs[leg].values[members]
        return float(np.nanmean(values)) if not np.isnan(values).all() else -1.0

    better = max(legs, key=mean)  # the first of equal ones
    return better, compare(
        legs[better].values[members],
        fused.values[members],
        rule=rule,
        base_missing=legs[better].missing[members],
        new_missing=fused.missing[members],
        clusters=family_numbers([fused.families[at] for at in members]),
        seed=settings.seed,
        resamples=settings.resamples,
    )
