"""Result lists and what is relevant, for many cases at once.

Both are ragged: one array of all ids, and where each case starts and ends in it. Ids are int64;
who has text ids maps them first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Self

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.evaluation.statistics.counts import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rankings:
    """The ordered result list of every case, best first.

    An item may stand in a list more than once: its first place counts; later ones take up their
    rank but never score.

    Attributes:
        items: int64 (total,), all lists one after the other.
        offsets: int64 (n_cases + 1,), list i is items[offsets[i]:offsets[i + 1]].
        scores: float64 (total,), never ascending within a list; equal ones are ties. None: no ties.
    """

    items: Ints
    offsets: Ints
    scores: Floats | None = None

    def __post_init__(self) -> None:
        _check_offsets(self.offsets, len(self.items))
        if self.scores is None:
            return
        if self.scores.shape != self.items.shape:
            raise InvalidRequest(
                f"{len(self.items)} items but scores of shape {self.scores.shape!r}; give one "
                "score per item",
                field="scores",
            )
        rises = ~(self.scores[1:] <= self.scores[:-1])  # also true for NaN
        rises[self.offsets[(self.offsets > 0) & (self.offsets < len(self.items))] - 1] = False
        if rises.any() or np.isnan(self.scores).any():
            at = int(np.argmax(rises)) if rises.any() else int(np.argmax(np.isnan(self.scores)))
            case = int(np.searchsorted(self.offsets, at, "right")) - 1
            raise InvalidRequest(
                f"scores of case {case} rise or are NaN near {float(self.scores[at])!r}; give "
                "lists ordered by descending score",
                field="scores",
            )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def from_lists(
        cls,
        lists: Sequence[Sequence[int] | Ints],
        scores: Sequence[Sequence[float] | Floats] | None = None,
    ) -> Self:
        """Return rankings from one list (or array) of ids per case.

        >>> Rankings.from_lists([[7, 3], [], [5]]).offsets.tolist()
        [0, 2, 2, 3]
        """
        return cls(
            items=_flat_ids(lists),
            offsets=_offsets(lists),
            scores=None if scores is None else _flat_floats(scores),
        )

    @classmethod
    def from_matrix(cls, items: npt.ArrayLike, scores: npt.ArrayLike | None = None) -> Self:
        """Return rankings from an (n_cases, n) array: every case has a list of n items."""
        table = _ids(items)
        if table.ndim != 2:
            raise InvalidRequest(
                f"items of shape {table.shape!r}; give (n_cases, n)", field="items"
            )
        n_cases, n = table.shape
        return cls(
            items=table.ravel(),
            offsets=np.arange(n_cases + 1, dtype=np.int64) * n,
            scores=None if scores is None else np.asarray(scores, dtype=np.float64).ravel(),
        )

    @classmethod
    def from_scores(cls, scored: Sequence[Mapping[int, float]]) -> Self:
        """Return rankings from item -> score per case: higher score first, then smaller id."""
        pairs = [sorted(case.items(), key=lambda pair: (-pair[1], pair[0])) for case in scored]
        return cls.from_lists(
            [[item for item, _ in case] for case in pairs],
            [[score for _, score in case] for case in pairs],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Relevance:
    """What is relevant to every case, and how much. Made by one of the class methods.

    A pair of case and item given more than once counts once, with its highest grade. Items of
    grade 0 are as irrelevant as items that are not listed.

    Attributes:
        items: int64 (total,), ascending and different within a case.
        grades: float64 (total,), > 0.
        offsets: int64 (n_cases + 1,), case i has items[offsets[i]:offsets[i + 1]].
        ideal: float64 (total,), the grades of each case in descending order.
    """

    items: Ints
    grades: Floats
    offsets: Ints
    ideal: Floats

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Ints:
        """How many items are relevant to each case: int64 (n_cases,)."""
        return np.diff(self.offsets)

    @property
    def cases(self) -> Ints:
        """The case of each relevant item: int64 (total,)."""
        return np.repeat(np.arange(len(self), dtype=np.int64), self.sizes)

    @classmethod
    def from_lists(cls, lists: Sequence[Sequence[int] | Ints]) -> Self:
        """Return relevance of grade 1 from one list (or array) of ids per case.

        >>> Relevance.from_lists([[7, 3, 7], []]).items.tolist()
        [3, 7]
        """
        items = _flat_ids(lists)
        sizes = np.diff(_offsets(lists))
        cases = np.repeat(np.arange(len(lists), dtype=np.int64), sizes)
        return cls.from_pairs(cases, items, None, n_cases=len(lists))

    @classmethod
    def from_grades(cls, graded: Sequence[Mapping[int, float]]) -> Self:
        """Return relevance from item -> grade per case."""
        cases = np.repeat(np.arange(len(graded), dtype=np.int64), np.diff(_offsets(graded)))
        return cls.from_pairs(
            cases,
            _flat_ids([list(case) for case in graded]),
            _flat_floats([list(case.values()) for case in graded]),
            n_cases=len(graded),
        )

    @classmethod
    def from_pairs(
        cls,
        cases: npt.ArrayLike,
        items: npt.ArrayLike,
        grades: npt.ArrayLike | None = None,
        *,
        n_cases: int,
    ) -> Self:
        """Return relevance from pairs of case and item, in any order.

        Args:
            cases: int (m,), from 0 to n_cases - 1.
            items: int (m,).
            grades: float (m,), finite and >= 0; None: all 1.
            n_cases: how many cases there are, also those without a relevant item.

        Raises:
            InvalidRequest: lengths differ; a case is out of range; a grade is negative or not
                finite.
        """
        case, item = _ids(cases), _ids(items)
        grade = np.ones(len(item)) if grades is None else np.asarray(grades, dtype=np.float64)
        if not case.shape == item.shape == grade.shape == (len(item),):
            raise InvalidRequest(
                f"cases {case.shape!r}, items {item.shape!r}, grades {grade.shape!r}; give three "
                "arrays of one length",
                field="grades",
            )
        wrong = np.flatnonzero(~(np.isfinite(grade) & (grade >= 0)))
        if len(wrong):
            raise InvalidRequest(
                f"grade {float(grade[wrong[0]])!r} of item {int(item[wrong[0]])}; give a finite "
                "number >= 0",
                field="grades",
            )
        wrong = np.flatnonzero((case < 0) | (case >= n_cases))
        if len(wrong):
            raise InvalidRequest(
                f"case {int(case[wrong[0]])!r}; give one from 0 to {n_cases - 1}", field="cases"
            )
        order = np.lexsort((-grade, item, case))
        order = order[grade[order] > 0]
        case, item, grade = case[order], item[order], grade[order]
        first = np.ones(len(item), dtype=np.bool_)
        first[1:] = (case[1:] != case[:-1]) | (item[1:] != item[:-1])
        case, item, grade = case[first], item[first], grade[first]
        return cls(
            items=item,
            grades=grade,
            offsets=np.searchsorted(case, np.arange(n_cases + 1)).astype(np.int64),
            ideal=grade[np.lexsort((-grade, case))],
        )


def _check_offsets(offsets: Ints, total: int) -> None:
    good = (
        offsets.ndim == 1
        and len(offsets) > 0
        and int(offsets[0]) == 0
        and int(offsets[-1]) == total
        and bool((np.diff(offsets) >= 0).all())
    )
    if not good:
        raise InvalidRequest(
            f"offsets of shape {offsets.shape!r} do not cut {total} items; give n_cases + 1 "
            f"ascending numbers from 0 to {total}",
            field="offsets",
        )


def _ids(values: npt.ArrayLike) -> Ints:
    ids = np.asarray(values)
    if ids.size and ids.dtype.kind not in "iu":
        raise InvalidRequest(
            f"ids of type {ids.dtype!s}, such as {ids.ravel()[0]!r}; give whole numbers, and map "
            "text ids to numbers first",
            field="items",
        )
    return ids.astype(np.int64)


def _offsets(lists: Sequence[Sequence[int] | Ints | Mapping[int, float]]) -> Ints:
    ends = np.cumsum(np.fromiter(map(len, lists), dtype=np.int64, count=len(lists)))
    return np.concatenate([np.zeros(1, dtype=np.int64), ends])


def _flat_ids(lists: Sequence[Sequence[int] | Ints]) -> Ints:
    if len(lists) and isinstance(lists[0], np.ndarray):
        return _ids(np.concatenate([_ids(one) for one in lists]))
    return _ids(list(chain.from_iterable(lists)))


def _flat_floats(lists: Sequence[Sequence[float] | Floats]) -> Floats:
    return np.fromiter(chain.from_iterable(lists), dtype=np.float64)
