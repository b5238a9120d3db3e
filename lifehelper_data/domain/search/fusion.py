"""Reciprocal rank fusion and the exact-title rule."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

RRF_K: Final = 60.0
"""Cormack, Clarke & Buettcher, SIGIR 2009: reciprocal rank fusion with k = 60."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LegRanking:
    """What one leg found.

    Attributes:
        leg: its name.
        weight: how much its ranks count, >= 0.
        book_ids: best first, without repeats.
        scores: the leg's own score of each.
    """

    leg: str
    weight: float
    book_ids: Sequence[int]
    scores: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedBook:
    """One book after fusion.

    Attributes:
        book_id: the book.
        score: sum over legs of weight / (k + rank).
        ranks: its rank by leg, from 1; absent where a leg did not find it.
        scores: the leg's own score.
        exact_title: whether the exact-title rule put it first.
    """

    book_id: int
    score: float
    ranks: Mapping[str, int]
    scores: Mapping[str, float]
    exact_title: bool = False


def fuse(legs: Sequence[LegRanking], *, k: float = RRF_K) -> list[FusedBook]:
    """Fuse rankings: higher score first, then lower book_id.

    A book that a leg did not find gets nothing from it. Terms are added in the order of `legs`.

    >>> a = LegRanking(leg="a", weight=1, book_ids=[7, 8], scores=[2.0, 1.0])
    >>> b = LegRanking(leg="b", weight=1, book_ids=[8], scores=[0.9])
    >>> [(f.book_id, f.score == s) for f, s in zip(fuse([a, b]), [1/62 + 1/61, 1/61])]
    [(8, True), (7, True)]
    """
    scores: dict[int, float] = {}
    ranks: dict[int, dict[str, int]] = {}
    raw: dict[int, dict[str, float]] = {}
    for leg in legs:
        for rank, (book_id, score) in enumerate(zip(leg.book_ids, leg.scores, strict=True), 1):
            scores[book_id] = scores.get(book_id, 0.0) + leg.weight / (k + rank)
            ranks.setdefault(book_id, {})[leg.leg] = rank
            raw.setdefault(book_id, {})[leg.leg] = score
    order = sorted(scores, key=lambda book_id: (-scores[book_id], book_id))
    return [
        FusedBook(book_id=b, score=scores[b], ranks=ranks[b], scores=raw[b])
        for b in order
        if scores[b] > 0
    ]


def exact_titles_first(fused: Sequence[FusedBook], exact: Collection[int]) -> list[FusedBook]:
    """Put books whose title equals the query before all others, lowest id first.

    Args:
        fused: the fused ranking.
        exact: books with an equal title, found or not by a leg.
    """
    by_id = {book.book_id: book for book in fused}
    empty = FusedBook(book_id=0, score=0.0, ranks={}, scores={})
    first = [
        FusedBook(
            book_id=book_id,
            score=by_id.get(book_id, empty).score,
            ranks=by_id.get(book_id, empty).ranks,
            scores=by_id.get(book_id, empty).scores,
            exact_title=True,
        )
        for book_id in sorted(set(exact))
    ]
    return [*first, *(book for book in fused if book.book_id not in set(exact))]
