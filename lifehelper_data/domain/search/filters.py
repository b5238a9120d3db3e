"""Filters of a search, as a mask over the catalog."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilters:
    """Conditions that every result meets; None asks nothing. Bounds are inclusive."""

    category: str | None = None
    price_min: int | None = None
    price_max: int | None = None
    pub_year_from: int | None = None
    pub_year_to: int | None = None
    in_stock_only: bool = False

    @property
    def empty(self) -> bool:
        """Whether nothing is asked."""
        return self == SearchFilters()


@dataclass(frozen=True, slots=True, kw_only=True)
class BookColumns:
    """What filters look at, one row per book, ordered by book_id.

    Attributes:
        book_ids: int64 (n_books,), ascending.
        price: int64 (n_books,), won; -1 where unknown.
        pub_year: int64 (n_books,); -1 where unknown.
        in_stock: bool (n_books,).
        class_codes: int64 (n_books,), index into `classes`; -1 without a class.
        classes: the catalog classes, sorted.
    """

    book_ids: npt.NDArray[np.int64]
    price: npt.NDArray[np.int64]
    pub_year: npt.NDArray[np.int64]
    in_stock: Mask
    class_codes: npt.NDArray[np.int64]
    classes: tuple[str, ...]

    def rows_of(self, book_ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the row of each book, -1 where the catalog has it not."""
        if not len(self.book_ids):
            return np.full(len(book_ids), -1, dtype=np.int64)
        rows = np.searchsorted(self.book_ids, book_ids)
        rows = np.minimum(rows, len(self.book_ids) - 1)
        return np.where(self.book_ids[rows] == book_ids, rows, -1)


def filter_classes(
    category: str, core_classes: Mapping[str, Collection[str]], classes: Collection[str]
) -> frozenset[str] | None:
    """Return the catalog classes a category filter lets through; None if it is unknown.

    Args:
        category: an onboarding category (its core classes are meant) or a catalog class. A word
            that is both means the core classes and the class.
        core_classes: onboarding category -> core classes.
        classes: the classes that books have.
    """
    mapped = core_classes.get(category)
    own = frozenset({category} if category in classes else ())
    if mapped is None:
        return own or None
    return frozenset(mapped) | own


def filter_mask(
    columns: BookColumns, filters: SearchFilters, wanted_classes: Collection[str] | None
) -> Mask | None:
    """Return which books pass, aligned with `columns`; None if all do.

    An unknown price or year does not pass a bound on it.

    Args:
        columns: the catalog.
        filters: the conditions; `category` is taken from `wanted_classes`.
        wanted_classes: catalog classes that pass; None for any.
    """
    if filters.empty:
        return None
    mask = np.ones(len(columns.book_ids), dtype=np.bool_)
    for values, low, high in (
        (columns.price, filters.price_min, filters.price_max),
        (columns.pub_year, filters.pub_year_from, filters.pub_year_to),
    ):
        if low is not None or high is not None:
            mask &= values >= 0
        if low is not None:
            mask &= values >= low
        if high is not None:
            mask &= values <= high
    if filters.in_stock_only:
        mask &= columns.in_stock
    if wanted_classes is not None:
        codes = [code for code, name in enumerate(columns.classes) if name in wanted_classes]
        mask &= np.isin(columns.class_codes, np.array(codes, dtype=np.int64))
    return mask
