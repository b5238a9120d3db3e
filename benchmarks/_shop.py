"""Texts to measure on: the fixture's books, and shops of any size made from their words."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self

import numpy as np

from benchmarks.kit import FIXTURES

FIRST_ID: Final = 1_000_001
MAPPING: Final = """\
[files.raw_books]
path = "books.csv"
[tables.books]
sql = "select * from raw_books"
"""


def fixture_books() -> list[dict[str, str]]:
    """Return the fixture shop's books in the order of their file, empty text for null."""
    with (FIXTURES / "shop" / "books.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """Books with short titles, some with short descriptions (5 to 8 words, about 15 tokens).

    Attributes:
        titles: by book_id.
        descriptions: by book_id, of those that have one.
    """

    titles: Mapping[int, str]
    descriptions: Mapping[int, str]

    @classmethod
    def of_size(cls, books: int, described: int, *, seed: int) -> Self:
        """Return a shop whose words are drawn from the descriptions of the fixture's books."""
        rng = np.random.default_rng(seed)
        words = sorted({w for book in fixture_books() for w in book["description"].split()})
        ids = range(FIRST_ID, FIRST_ID + books)
        chosen = rng.choice(books, described, replace=False)
        return cls(
            titles={book_id: _words(rng, words, 2, 5) for book_id in ids},
            descriptions={FIRST_ID + int(at): _words(rng, words, 5, 9) for at in sorted(chosen)},
        )

    def changed(self, count: int, *, seed: int) -> tuple[Self, frozenset[int]]:
        """Return the shop with new titles for `count` books, and which these are."""
        rng = np.random.default_rng(seed)
        ids = sorted(self.titles)
        chosen = frozenset(ids[int(at)] for at in rng.choice(len(ids), count, replace=False))
        titles = {i: f"{t} {seed}판" if i in chosen else t for i, t in self.titles.items()}
        return replace(self, titles=titles), chosen

    def write(self, folder: Path) -> Path:
        """Write the shop's files, over older ones, and return its mapping file."""
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "books.csv").open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["book_id", "title", "author", "price", "category", "description"])
            for book_id, title in self.titles.items():
                author = f"저자 {book_id % 997}"
                text = self.descriptions.get(book_id, "")
                lines.writerow([book_id, title, author, 9000 + book_id % 20_000, "소설", text])
        mapping = folder / "source.toml"
        mapping.write_text(MAPPING, encoding="utf-8")
        return mapping


def _words(rng: np.random.Generator, words: Sequence[str], low: int, high: int) -> str:
    return " ".join(words[int(at)] for at in rng.integers(0, len(words), rng.integers(low, high)))
