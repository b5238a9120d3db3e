"""Is the new system better? Paired comparison on the same cases, with a verdict in words.

The verdict of a metric, from the first rule that applies (`alpha` = 0.05):

| verdict | when |
|---|---|
| better / worse | p, after Holm over the metrics compared, < alpha and abs(effect) > margin |
| no difference | the 95 % interval of the effect lies inside [-margin, margin] |
| too small to tell | everything else |

The last line has three sorts, which `Comparison.reason` tells apart: nothing or one pair to look
at; p >= alpha and an interval that reaches beyond the margin; p < alpha and abs(effect) <= margin
with an interval that reaches beyond it, so there is a difference but not one known to matter. A
system against itself has differences that are all 0: its interval is the point 0, which lies
inside any margin, also 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.statistics.counts import Counts, Floats, checked_values, mean
from lifehelper_data.evaluation.statistics.holm import holm
from lifehelper_data.evaluation.statistics.intervals import (
    RESAMPLES,
    Interval,
    bootstrap_means,
)
from lifehelper_data.evaluation.statistics.permutation import PERMUTATIONS, sign_flip_p
from lifehelper_data.evaluation.statistics.power import ALPHA, minimal_detectable_effect


class Verdict(StrEnum):
    """What a comparison says of one metric."""

    BETTER = "better"
    WORSE = "worse"
    NO_DIFFERENCE = "no difference"
    TOO_SMALL = "too small to tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRule:
    """How a metric is read.

    Attributes:
        name: such as "recall@10".
        higher_is_better: the direction.
        margin: smallest effect that matters, in the metric's own unit, >= 0.
        gated: whether "too small to tell" stops a release.
        kind: "proportion" for values that are 0 or 1, else "mean".
    """

    name: str
    higher_is_better: bool
    margin: float
    gated: bool
    kind: Literal["proportion", "mean"]

    def __post_init__(self) -> None:
        if not 0 <= self.margin < float("inf"):
            raise InvalidRequest(
                f"margin {self.margin!r} of metric {self.name!r}; give a number >= 0",
                field="margin",
            )
        if self.kind not in {"proportion", "mean"}:
            raise InvalidRequest(
                f"kind {self.kind!r} of metric {self.name!r}; give 'proportion' or 'mean'",
                field="kind",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """One metric of two systems on the same cases, in the same order.

    Attributes:
        rule: the metric.
        base: float (n,), NaN where undefined or missing.
        new: float (n,).
        base_missing: bool (n,), cases without an output of the base; None: none.
        new_missing: bool (n,), the same of the new system.
        clusters: n labels of cases that depend on each other; None: each stands for itself.
    """

    rule: MetricRule
    base: npt.ArrayLike
    new: npt.ArrayLike
    base_missing: npt.ArrayLike | None = None
    new_missing: npt.ArrayLike | None = None
    clusters: npt.ArrayLike | None = None

    def differences(self) -> tuple[Floats, Floats, Floats, Counts]:
        """Return base, new and new - base, NaN unless both have a value, and the pairs counted.

        A pair is missing if one of its sides is, else undefined if one of its sides is.

        Raises:
            InvalidRequest: the sides differ in length; see also `checked_values`.
        """
        base, base_missing = checked_values(self.base, self.base_missing)
        new, new_missing = checked_values(self.new, self.new_missing)
        if len(base) != len(new):
            raise InvalidRequest(
                f"metric {self.rule.name!r}: {len(base)} base values but {len(new)} new ones; "
                "compare on the same cases",
                field="new",
            )
        both = ~np.isnan(base) & ~np.isnan(new)
        lost = int(np.count_nonzero(base_missing | new_missing))
        evaluated = int(np.count_nonzero(both))
        counts = Counts(evaluated=evaluated, undefined=len(base) - lost - evaluated, missing=lost)
        base, new = np.where(both, base, np.nan), np.where(both, new, np.nan)
        return base, new, new - base, counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What the pairs say of one metric. Means and effect are over the evaluated pairs only.

    Attributes:
        rule: the metric.
        counts: pairs evaluated, undefined and missing.
        base_mean: mean of the base; None without an evaluated pair.
        new_mean: mean of the new system.
        effect: mean of new - base, in the metric's own unit.
        interval: 95 % interval of the effect, for this metric alone; None with fewer than two
            independent pairs.
        p: p-value of the paired sign-flip test; None without an evaluated pair.
        p_holm: p corrected for the metrics compared together.
        detectable: effect that this test would find with power 0.8; None if unknown, such as for
            equal differences (see `minimal_detectable_effect`).
        verdict: the verdict.
        reason: the rule that led to it, in one line.
    """

    rule: MetricRule
    counts: Counts
    base_mean: float | None
    new_mean: float | None
    effect: float | None
    interval: Interval | None
    p: float | None
    p_holm: float | None
    detectable: float | None
    verdict: Verdict
    reason: str


def compare(
    base: npt.ArrayLike,
    new: npt.ArrayLike,
    *,
    rule: MetricRule,
    base_missing: npt.ArrayLike | None = None,
    new_missing: npt.ArrayLike | None = None,
    clusters: npt.ArrayLike | None = None,
    seed: int,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
) -> Comparison:
    """Compare two systems by one metric alone; see `compare_all`."""
    paired = Paired(
        rule=rule,
        base=base,
        new=new,
        base_missing=base_missing,
        new_missing=new_missing,
        clusters=clusters,
    )
    return compare_all([paired], seed=seed, resamples=resamples, permutations=permutations)[0]


def compare_all(
    metrics: Sequence[Paired],
    *,
    seed: int,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
) -> tuple[Comparison, ...]:
    """Compare two systems by the metrics of a suite; p-values are corrected over all of them.

    A metric without an evaluated pair has no p-value and does not count in the correction.

    Args:
        metrics: the metrics; they may have different cases.
        seed: any integer.
        resamples: bootstrap resamples.
        permutations: draws of signs.

    Returns:
        One comparison per metric, in the order given. Empty input gives an empty tuple.

    Raises:
        InvalidRequest: values, masks or clusters that do not fit together.
    """
    seen = [paired.differences() for paired in metrics]
    intervals = _intervals(metrics, [found[2] for found in seen], resamples, seed)
    p_values = [
        sign_flip_p(found[2], clusters=each.clusters, permutations=permutations, seed=seed)
        for each, found in zip(metrics, seen, strict=True)
    ]
    adjusted = holm([np.nan if p is None else p for p in p_values])
    comparisons = []
    for at, paired in enumerate(metrics):
        base, new, differences, counts = seen[at]
        effect = mean(differences)
        p_holm = None if p_values[at] is None else float(adjusted[at])
        verdict, reason = judge(paired.rule, effect, intervals[at], p_holm)
        comparisons.append(
            Comparison(
                rule=paired.rule,
                counts=counts,
                base_mean=mean(base),
                new_mean=mean(new),
                effect=effect,
                interval=intervals[at],
                p=p_values[at],
                p_holm=p_holm,
                detectable=minimal_detectable_effect(differences, clusters=paired.clusters),
                verdict=verdict,
                reason=reason,
            )
        )
    return tuple(comparisons)


def judge(
    rule: MetricRule, effect: float | None, interval: Interval | None, p_holm: float | None
) -> tuple[Verdict, str]:
    """Return the verdict by the table at the top of this module, and the reason.

    >>> rule = MetricRule(
    ...     name="mrr@10", higher_is_better=True, margin=0.01, gated=True, kind="mean")
    >>> judge(rule, 0.03, Interval(low=0.02, high=0.04, method="bca"), 0.001)
    (<Verdict.BETTER: 'better'>, 'p 0.001 < 0.05 and |effect| 0.03 > margin 0.01')
    """
    margin = rule.margin
    if effect is None or p_holm is None:
        return Verdict.TOO_SMALL, "no case has a value on both sides"
    size = abs(effect)
    found = p_holm < ALPHA
    if found and size > margin:
        good = (effect > 0) == rule.higher_is_better
        why = f"p {p_holm:.3g} < {ALPHA:g} and |effect| {size:.3g} > margin {margin:g}"
        return (Verdict.BETTER if good else Verdict.WORSE), why
    if interval is None:
        return Verdict.TOO_SMALL, "only one independent case has a value on both sides"
    if interval.within(margin):
        return Verdict.NO_DIFFERENCE, f"the interval lies inside ±{margin:g}"
    if found:
        return Verdict.TOO_SMALL, (
            f"p {p_holm:.3g} < {ALPHA:g}, but |effect| {size:.3g} is within the margin {margin:g} "
            "and the interval is not: there is a difference, whether it matters cannot be told"
        )
    return (
        Verdict.TOO_SMALL,
        f"p {p_holm:.3g} >= {ALPHA:g} and the interval is not inside ±{margin:g}",
    )


def _intervals(
    metrics: Sequence[Paired], differences: Sequence[Floats], resamples: int, seed: int
) -> list[Interval | None]:
    """Return an interval per metric; metrics with the same clusters share their resamples."""
    found: list[Interval | None] = [None] * len(metrics)
    shared: dict[tuple[int, int], list[int]] = {}
    for at, paired in enumerate(metrics):
        shared.setdefault((id(paired.clusters), len(differences[at])), []).append(at)
    for members in shared.values():
        intervals = bootstrap_means(
            np.column_stack([differences[at] for at in members]),
            clusters=metrics[members[0]].clusters,
            resamples=resamples,
            seed=seed,
        )
        for at, interval in zip(members, intervals, strict=True):
            found[at] = interval
    return found
