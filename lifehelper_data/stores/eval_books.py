"""Queries on a pinned release that evaluation cases and reference systems are made from.

Each returns one SELECT for `Workspace.sql`; every result has a total order.
"""

from collections.abc import Sequence

_SAMPLED = (
    "SELECT book_id, title, author, description IS NOT NULL AS described FROM books "
    "ORDER BY md5('{seed}:' || book_id), book_id LIMIT {size}"
)


def sampled_books(seed: int, size: int) -> str:
    """Select `size` books drawn by the seed: book_id, title, author, described; ids ascending.

    The draw depends on seed and book ids only: a book that comes or goes moves no other one.
    """
    return f"SELECT * FROM ({_SAMPLED.format(seed=int(seed), size=int(size))}) ORDER BY book_id"


def all_book_ids() -> str:
    """Select every book_id, ascending."""
    return "SELECT book_id FROM books ORDER BY book_id"


def most_popular_books(size: int) -> str:
    """Select the `size` most popular books: book_id, title; ties: lower id."""
    return (
        "SELECT book_id, title FROM books JOIN popularity USING (book_id) "
        f"ORDER BY popularity.value DESC, book_id LIMIT {int(size)}"
    )


def books_of_authors(names: Sequence[str]) -> str:
    """Select every book whose author line begins with one of the names: book_id, title, author.

    A line that begins so may still name somebody else ("한강" begins "한강우"): the caller looks.
    """
    if not names:
        return "SELECT book_id, title, author FROM books WHERE false"
    values = ", ".join("(" + _text(name) + ")" for name in names)
    return (
        f"SELECT book_id, title, author FROM books WHERE EXISTS (SELECT 1 FROM (VALUES {values}) "
        "AS named(name) WHERE starts_with(ltrim(author), name)) ORDER BY book_id"
    )


def sampled_texts(seed: int, size: int) -> str:
    """Select title and description of the books of `sampled_books`; ids ascending."""
    sampled = _SAMPLED.format(seed=int(seed), size=int(size))
    return (
        f"SELECT book_id, title, description FROM books "
        f"WHERE book_id IN (SELECT book_id FROM ({sampled})) ORDER BY book_id"
    )


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
