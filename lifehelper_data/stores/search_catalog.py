"""What search needs of a release's tables: filters, exact titles, rows to show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from lifehelper_data.domain.search.filters import BookColumns
from lifehelper_data.domain.search.fusion import FusedBook
from lifehelper_data.domain.text.normalize import squash
from lifehelper_data.stores.releases import ReleaseReader

SHOWN_COLUMNS: Final = (
    "book_id", "title", "author", "publisher", "price", "in_stock", "cover_url",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCatalog:
    """Columns of one release, held in memory; rows are read when they are shown.

    Attributes:
        reader: the pinned release.
        columns: what filters look at.
        core_classes: onboarding category -> its core classes.
        title_keys: int64 (n,), ascending.
        titled_books: int64 (n,), the book of each title key; ascending within a key.
    """

    reader: ReleaseReader
    columns: BookColumns
    core_classes: Mapping[str, frozenset[str]]
    title_keys: npt.NDArray[np.int64]
    titled_books: npt.NDArray[np.int64]

    @classmethod
    def open(cls, reader: ReleaseReader) -> "SearchCatalog":
        """Load the columns of a release."""
        titles = (
            reader.frame("SELECT title_key, book_id FROM search_titles ORDER BY title_key, book_id")
            if "search_titles" in reader.release.content.tables
            else pl.DataFrame(schema={"title_key": pl.Int64, "book_id": pl.Int64})
        )
        return cls(
            reader=reader,
            columns=_columns(reader),
            core_classes=_core_classes(reader),
            title_keys=titles["title_key"].to_numpy(),
            titled_books=titles["book_id"].to_numpy(),
        )

    def titled(self, title_key: int, squashed: str) -> list[int]:
        """Return the books of a title, ascending by id.

        Args:
            title_key: the title's number.
            squashed: the title without spaces; books whose title only shares the number drop out.
        """
        start, stop = np.searchsorted(self.title_keys, [title_key, title_key + 1])
        rows = self.rows(self.titled_books[start:stop].tolist())
        return sorted(book for book, row in rows.items() if squash(row["title"]) == squashed)

    def popularity(self) -> npt.NDArray[np.float64]:
        """Return the popularity of every book, aligned with `columns`; 0 without a row."""
        if "popularity" not in self.reader.release.content.tables:
            return np.zeros(len(self.columns.book_ids))
        frame = self.reader.frame(
            "SELECT coalesce(p.value, 0.0) AS value FROM books b LEFT JOIN popularity p "
            "ON p.book_id = b.book_id ORDER BY b.book_id"
        )
        return frame["value"].to_numpy()

    def existing(self, ranked: Sequence[FusedBook]) -> list[FusedBook]:
        """Return the books that the release's table has, in their order."""
        ids = np.array([book.book_id for book in ranked], dtype=np.int64)
        there = self.columns.rows_of(ids) >= 0
        return [book for book, exists in zip(ranked, there, strict=True) if exists]

    def rows(self, book_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
        """Return the rows to show, by book."""
        if not book_ids:
            return {}
        found = self.reader.rows(
            f"SELECT {', '.join(SHOWN_COLUMNS)} FROM books "
            f"WHERE book_id IN ({', '.join('?' for _ in book_ids)})",
            list(book_ids),
        )
        return {int(str(row[0])): dict(zip(SHOWN_COLUMNS, row, strict=True)) for row in found}


def _columns(reader: ReleaseReader) -> BookColumns:
    frame = reader.frame(
        "SELECT book_id, coalesce(price, -1)::BIGINT AS price, "
        "coalesce(pub_year, -1)::BIGINT AS pub_year, in_stock, category FROM books ORDER BY book_id"
    )
    classes = sorted(frame["category"].drop_nulls().unique().to_list())
    codes = {name: code for code, name in enumerate(classes)}
    return BookColumns(
        book_ids=frame["book_id"].to_numpy(),
        price=frame["price"].to_numpy(),
        pub_year=frame["pub_year"].to_numpy(),
        in_stock=frame["in_stock"].to_numpy(),
        class_codes=frame["category"]
        .replace_strict(codes, default=-1, return_dtype=pl.Int64)
        .fill_null(-1)
        .to_numpy()
        if codes
        else np.full(frame.height, -1, dtype=np.int64),
        classes=tuple(classes),
    )


def _core_classes(reader: ReleaseReader) -> dict[str, frozenset[str]]:
    core: dict[str, set[str]] = {}
    for category, name, strength in reader.rows(
        "SELECT category, class, strength FROM category_map ORDER BY category, class"
    ):
        found = core.setdefault(str(category), set())
        if strength == "core":
            found.add(str(name))
    return {category: frozenset(names) for category, names in core.items()}
