"""Business rules: the order of a pool by year, price or popularity, and the boost by popularity."""

import dataclasses
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from lifehelper_data.domain.search.fusion import FusedBook, LegRanking


class Sort(StrEnum):
    """How results are ordered."""

    RELEVANCE = "relevance"
    NEWEST = "newest"
    PRICE_ASC = "price_asc"
    PRICE_DESC = "price_desc"
    POPULAR = "popular"


_DIRECTIONS: Final[dict[Sort, int]] = {
    Sort.NEWEST: -1,
    Sort.PRICE_ASC: 1,
    Sort.PRICE_DESC: -1,
    Sort.POPULAR: -1,
}


def first_of(leg: LegRanking, most: int) -> LegRanking:
    """Return a leg with its first `most` books: what merely lies near is not sorted to the top."""
    return dataclasses.replace(leg, book_ids=leg.book_ids[:most], scores=leg.scores[:most])


def ordered_by(
    fused: Sequence[FusedBook], values: Sequence[float | None], sort: Sort
) -> list[FusedBook]:
    """Order a pool by a value.

    Args:
        fused: the pool, by relevance.
        values: year, price or popularity of each book; None where unknown.
        sort: the rule; relevance leaves the order alone.

    Returns:
        The pool: by value, unknown values last, then higher fused score, then lower book_id. Each
        book bears the value it was ordered by and its place by relevance.

    >>> found = ((1, 3.0), (2, 2.0))
    >>> books = [FusedBook(book_id=b, score=s, ranks={}, scores={}) for b, s in found]
    >>> [b.book_id for b in ordered_by(books, [20_000, 9_000], Sort.PRICE_ASC)]
    [2, 1]
    >>> [b.book_id for b in ordered_by(books, [None, 9_000], Sort.PRICE_DESC)]
    [2, 1]
    """
    if sort is Sort.RELEVANCE:
        return list(fused)
    sign = _DIRECTIONS[sort]
    marked = [
        dataclasses.replace(book, sort_value=value, relevance_rank=place)
        for place, (book, value) in enumerate(zip(fused, values, strict=True), 1)
    ]
    return sorted(
        marked,
        key=lambda book: (
            book.sort_value is None,
            0.0 if book.sort_value is None else sign * book.sort_value,
            -book.score,
            book.book_id,
        ),
    )


def boosted(
    fused: Sequence[FusedBook], popularity: Sequence[float], boost: float
) -> list[FusedBook]:
    """Add `boost` times a book's popularity to its fused score, and order again.

    Args:
        fused: books by relevance.
        popularity: value of each, 0-1.
        boost: weight of the value, >= 0; 0 leaves everything as it is.

    Returns:
        Higher score first, then lower book_id.
    """
    if boost == 0:
        return list(fused)
    raised = [
        dataclasses.replace(book, score=book.score + boost * value, popularity_term=boost * value)
        for book, value in zip(fused, popularity, strict=True)
    ]
    return sorted(raised, key=lambda book: (-book.score, book.book_id))
