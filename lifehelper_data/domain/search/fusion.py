"""Reciprocal rank fusion and the exact-title rule."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
        score: sum over legs of weight / (k + rank), and the popularity term.
        ranks: its rank by leg, from 1; absent where a leg did not find it.
        scores: the leg's own score.
        contributions: weight / (k + rank) by leg.
        popularity_term: what the boost by popularity added.
        exact_title: whether the exact-title rule put it first.
        sort_value: what a sort rule ordered it by; None without a rule, or where it is unknown.
        relevance_rank: its place by relevance, from 1, where a sort rule moved it; else None.
    """

    book_id: int
    score: float
    ranks: Mapping[str, int]
    scores: Mapping[str, float]
    contributions: Mapping[str, float] = field(default_factory=dict)
    popularity_term: float = 0.0
    exact_title: bool = False
    sort_value: float | None = None
    relevance_rank: int | None = None


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
    parts: dict[int, dict[str, float]] = {}
    for leg in legs:
        for rank, (book_id, score) in enumerate(zip(leg.book_ids, leg.scores, strict=True), 1):
            part = leg.weight / (k + rank)
            scores[book_id] = scores.get(book_id, 0.0) + part
            parts.setdefault(book_id, {})[leg.leg] = part
            ranks.setdefault(book_id, {})[leg.leg] = rank
            raw.setdefault(book_id, {})[leg.leg] = score
    order = sorted(scores, key=lambda book_id: (-scores[book_id], book_id))
    return [
        FusedBook(book_id=b, score=scores[b], ranks=ranks[b], scores=raw[b], contributions=parts[b])
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
        replace(by_id.get(book_id, empty), book_id=book_id, exact_title=True)
        for book_id in sorted(set(exact))
    ]
    return [*first, *(book for book in fused if book.book_id not in set(exact))]
