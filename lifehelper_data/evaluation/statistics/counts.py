"""How many cases a number speaks of: evaluated + undefined + missing = total."""

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.errors import InvalidRequest

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What became of the cases of one metric.

    Attributes:
        evaluated: cases with a value.
        undefined: cases with an output of which the metric says nothing (no relevant item).
        missing: cases without an output.
    """

    evaluated: int
    undefined: int
    missing: int

    @property
    def total(self) -> int:
        """All cases."""
        return self.evaluated + self.undefined + self.missing


def count(values: npt.ArrayLike, missing: npt.ArrayLike | None = None) -> Counts:
    """Count evaluated, undefined and missing cases.

    Args:
        values: float (n,), NaN where the metric is undefined or the case is missing.
        missing: bool (n,), True for a case without an output; None: none is.

    Raises:
        InvalidRequest: see `checked_values`.

    >>> count([1.0, 0.0, float("nan"), float("nan")], [False, False, False, True])
    Counts(evaluated=2, undefined=1, missing=1)
    """
    found, absent = checked_values(values, missing)
    lost = int(np.count_nonzero(absent))
    evaluated = int(np.count_nonzero(~np.isnan(found)))
    return Counts(evaluated=evaluated, undefined=len(found) - lost - evaluated, missing=lost)


def mean(values: Floats) -> float | None:
    """Return the mean of the values that are not NaN, without rounding on the way; None if none.

    The order of cases does not change a bit of it.

    >>> mean(np.array([0.1] * 10 + [float("nan")]))
    0.1
    """
    seen = values[~np.isnan(values)]
    return math.fsum(seen.tolist()) / len(seen) if len(seen) else None


def checked_values(
    values: npt.ArrayLike, missing: npt.ArrayLike | None = None
) -> tuple[Floats, Mask]:
    """Return per-case values as float64 (n,) and the mask of missing cases as bool (n,).

    Raises:
        InvalidRequest: not one dimension; lengths differ; a value is infinite; or a missing case
            has a value, which would let a system without an answer score.
    """
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1:
        raise InvalidRequest(
            f"values of shape {found.shape!r}; give one value per case, shape (n,)", field="values"
        )
    if missing is None:
        absent = np.zeros(len(found), dtype=np.bool_)
    else:
        absent = np.asarray(missing, dtype=np.bool_)
        if absent.shape != found.shape:
            raise InvalidRequest(
                f"{len(found)} values but a mask of shape {absent.shape!r}; give one flag per case",
                field="missing",
            )
    infinite = np.flatnonzero(np.isinf(found))
    if len(infinite):
        at = int(infinite[0])
        raise InvalidRequest(
            f"value {float(found[at])!r} of case {at}; a metric is finite, or NaN where undefined",
            field="values",
        )
    scored = np.flatnonzero(absent & ~np.isnan(found))
    if len(scored):
        at = int(scored[0])
        raise InvalidRequest(
            f"case {at} is missing but has value {float(found[at])!r}; a case without an output "
            "has no value: give NaN",
            field="values",
        )
    return found, absent


def checked_clusters(clusters: npt.ArrayLike | None, n: int) -> Ints | None:
    """Return the cluster of each case as a number from 0, int64 (n,); None for None.

    Args:
        clusters: n labels, numbers or texts; cases of one label depend on each other.
        n: how many cases there are.

    Raises:
        InvalidRequest: not one label per case, or a label that is NaN or None.
    """
    if clusters is None:
        return None
    labels: npt.NDArray[Any] = np.asarray(clusters)
    if labels.shape != (n,):
        raise InvalidRequest(
            f"{n} values but cluster labels of shape {labels.shape!r}; give one label per case",
            field="clusters",
        )
    if labels.dtype.kind == "O" or (labels.dtype.kind == "f" and bool(np.isnan(labels).any())):
        raise InvalidRequest(
            f"cluster labels of type {labels.dtype!s} with empty or mixed values; give numbers or "
            "texts, one per case",
            field="clusters",
        )
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
