"""The same metric by groups of cases: user activity, class, price band, query type."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.statistics.comparison import (
    Comparison,
    MetricRule,
    Paired,
    compare_all,
)
from lifehelper_data.evaluation.statistics.counts import Ints, checked_clusters
from lifehelper_data.evaluation.statistics.intervals import RESAMPLES
from lifehelper_data.evaluation.statistics.permutation import PERMUTATIONS
from lifehelper_data.evaluation.statistics.summary import MetricSummary, summarise

S = TypeVar("S", bound=np.generic)

LEAST_CASES: Final = 30
"""Evaluated cases below which a slice says that it is too small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceSummary:
    """A metric over the cases of one slice.

    Attributes:
        name: what is sliced by, such as "price_band".
        value: the slice, such as "10000-20000".
        summary: the metric there.
        warning: says so if fewer than `LEAST_CASES` cases are evaluated; else None.
    """

    name: str
    value: str
    summary: MetricSummary
    warning: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceComparison:
    """Two systems over the pairs of one slice.

    Attributes:
        name: what is sliced by.
        value: the slice.
        comparison: the metric there; p corrected over the slices of this name.
        warning: says so if fewer than `LEAST_CASES` pairs are evaluated; else None.
    """

    name: str
    value: str
    comparison: Comparison
    warning: str | None


def summarise_slices(
    values: npt.ArrayLike,
    missing: npt.ArrayLike | None = None,
    *,
    name: str,
    labels: Sequence[str | None],
    rule: MetricRule,
    clusters: npt.ArrayLike | None = None,
    seed: int,
    resamples: int = RESAMPLES,
) -> tuple[SliceSummary, ...]:
    """Return the metric of each slice, ascending by label.

    Args:
        values: float (n,), NaN where undefined or missing.
        missing: bool (n,), cases without an output; None: none.
        name: what is sliced by.
        labels: the slice of each case; a case with None is in none of them.
        rule: the metric.
        clusters: n labels of cases that depend on each other; None: each stands for itself.
        seed: any integer; every slice uses the same.
        resamples: bootstrap resamples.

    Raises:
        InvalidRequest: labels do not fit the values; see also `summarise`.
    """
    found = np.asarray(values, dtype=np.float64)
    absent = None if missing is None else np.asarray(missing, dtype=np.bool_)
    numbers = checked_clusters(clusters, len(found))
    slices = []
    for label, members in _members(labels, len(found)):
        summary = summarise(
            found[members],
            _of(absent, members),
            rule=rule,
            clusters=_of(numbers, members),
            seed=seed,
            resamples=resamples,
        )
        warning = few_cases(summary.counts.evaluated)
        slices.append(SliceSummary(name=name, value=label, summary=summary, warning=warning))
    return tuple(slices)


def compare_slices(
    paired: Paired,
    *,
    name: str,
    labels: Sequence[str | None],
    seed: int,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
) -> tuple[SliceComparison, ...]:
    """Compare two systems in each slice, ascending by label; p is corrected over the slices.

    Args:
        paired: the metric on all cases.
        name: what is sliced by.
        labels: the slice of each case; a case with None is in none of them.
        seed: any integer; every slice uses the same.
        resamples: bootstrap resamples.
        permutations: draws of signs.

    Raises:
        InvalidRequest: labels do not fit the cases; see also `compare_all`.
    """
    base, new = (np.asarray(side, dtype=np.float64) for side in (paired.base, paired.new))
    masks = [
        None if mask is None else np.asarray(mask, dtype=np.bool_)
        for mask in (paired.base_missing, paired.new_missing)
    ]
    numbers = checked_clusters(paired.clusters, len(base))
    members = _members(labels, len(base))
    parts = [
        Paired(
            rule=paired.rule,
            base=base[inside],
            new=new[inside],
            base_missing=_of(masks[0], inside),
            new_missing=_of(masks[1], inside),
            clusters=_of(numbers, inside),
        )
        for _, inside in members
    ]
    compared = compare_all(parts, seed=seed, resamples=resamples, permutations=permutations)
    return tuple(
        SliceComparison(
            name=name,
            value=label,
            comparison=comparison,
            warning=few_cases(comparison.counts.evaluated),
        )
        for (label, _), comparison in zip(members, compared, strict=True)
    )


def few_cases(n: int) -> str | None:
    """Return a warning if a slice has too few evaluated cases, else None.

    >>> few_cases(12)
    'only 12 cases evaluated, fewer than 30: read with care'
    >>> few_cases(30)
    """
    if n >= LEAST_CASES:
        return None
    return f"only {n} cases evaluated, fewer than {LEAST_CASES}: read with care"


def _members(labels: Sequence[str | None], n: int) -> list[tuple[str, Ints]]:
    if len(labels) != n:
        raise InvalidRequest(
            f"{n} cases but {len(labels)} slice labels; give one label per case", field="labels"
        )
    found: dict[str, list[int]] = {}
    for at, label in enumerate(labels):
        if label is not None:
            found.setdefault(label, []).append(at)
    return [(label, np.array(found[label], dtype=np.int64)) for label in sorted(found)]


def _of(array: npt.NDArray[S] | None, members: Ints) -> npt.NDArray[S] | None:
    return None if array is None else array[members]
