"""Ten searches that show how a catalog is found: chosen by rule, asked of the pinned release."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

import polars as pl

from lifehelper_data.domain.errors import InvalidRequest, NotFound, Unavailable
from lifehelper_data.domain.text.normalize import has_letter_or_digit
from lifehelper_data.runtime.requests import QUERY_MAX
from lifehelper_data.runtime.search_results import SearchResponse

TOP: Final = 5
PRICE_MAX_WON: Final = 15_000
_LONGEST_TITLE: Final = 60
_FIRST_SYLLABLE, _LAST_SYLLABLE = "가", "힣"
_FINALS: Final = 28  # Unicode 15, 3.12: a syllable's number modulo 28 is its final consonant
_AUTHOR: Final = re.compile(r"\s*(\(.*|[,;/].*|\s(지음|저|글)$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleQuery:
    """One search of the page.

    Attributes:
        kind: what it tries, in a few words.
        query: the query; None if the catalog offers nothing to ask with.
        filters: its filters.
        book_id: the book it was made from; None if it looks for no particular one.
    """

    kind: str
    query: str | None
    filters: Mapping[str, object] = field(default_factory=dict)
    book_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleAnswer:
    """A search of the page with what it found.

    Attributes:
        asked: the search.
        response: at most five results with explanations; None if it was not asked.
    """

    asked: SampleQuery
    response: SearchResponse | None

    @property
    def place(self) -> int | None:
        """Place, from 1, of the book the query was made from; None if it is not shown."""
        results = self.response.results if self.response else ()
        ids = [result.book_id for result in results]
        return ids.index(self.asked.book_id) + 1 if self.asked.book_id in ids else None


class Searchable(Protocol):
    """What answers the searches: a workspace."""

    def search(self, request: Mapping[str, object], *, explain: bool = False) -> SearchResponse:
        """Answer one search."""
        ...


def choose_queries(books: pl.DataFrame, popularity: pl.DataFrame) -> list[SampleQuery]:
    """Choose the ten searches of a catalog.

    Titles are taken from the best-selling books on (ties: lower id), each book once; the author is
    the one with the most books (ties: first by code point). The other queries are the same for
    every shop.

    Args:
        books: the books.
        popularity: book_id, rank.
    """
    titled = _titled(books, popularity)
    whole = _next(titled, lambda title: True)
    spaced = _next(titled, lambda title: " " in title)
    misspelt = _next(titled, lambda title: one_letter_wrong(title) is not None)
    signed = _next([b for b in titled if b[2]], lambda title: " " in title)
    author = _most_frequent_author(books)
    return [
        SampleQuery(kind="exact title", query=whole and whole[1], book_id=whole and whole[0]),
        SampleQuery(
            kind="title without its spaces",
            query=spaced and spaced[1].replace(" ", ""),
            book_id=spaced and spaced[0],
        ),
        SampleQuery(
            kind="title with one letter wrong",
            query=misspelt and one_letter_wrong(misspelt[1]),
            book_id=misspelt and misspelt[0],
        ),
        SampleQuery(
            kind="author and the first word of the title",
            query=signed and f"{signed[2]} {signed[1].split()[0]}",
            book_id=signed and signed[0],
        ),
        SampleQuery(kind="author with the most books", query=author),
        SampleQuery(kind="one noun", query="여행"),
        SampleQuery(kind="the same noun with a particle", query="여행을"),
        SampleQuery(kind="a need, in a sentence", query="잠이 안 올 때 읽기 좋은 책"),
        SampleQuery(kind="a need, for beginners", query="처음 시작하는 사람을 위한 쉬운 투자 책"),
        SampleQuery(
            kind="filtered by price and stock",
            query="마음을 위로하는 이야기",
            filters={"price_max": PRICE_MAX_WON, "in_stock_only": True},
        ),
    ]


def ask(workspace: Searchable, queries: list[SampleQuery]) -> list[SampleAnswer] | str:
    """Ask every search; where the release cannot be searched, say why instead."""
    try:
        return [SampleAnswer(asked=query, response=_answer(workspace, query)) for query in queries]
    except (InvalidRequest, NotFound, Unavailable) as error:
        return str(error)


def one_letter_wrong(title: str) -> str | None:
    """Return a title with a mistake in its middle syllable: a final consonant lost or won.

    Of an even number of syllables the later middle one is taken; None without at least three.

    >>> one_letter_wrong("메타포 워즈"), one_letter_wrong("ABC"), one_letter_wrong("삼국지")
    ('메타폰 워즈', None, '삼구지')
    """
    places = [i for i, mark in enumerate(title) if _FIRST_SYLLABLE <= mark <= _LAST_SYLLABLE]
    if len(places) < 3:
        return None
    place = places[len(places) // 2]
    number = ord(title[place]) - ord(_FIRST_SYLLABLE)
    final = number % _FINALS
    nieun = 4
    wrong = chr(ord(_FIRST_SYLLABLE) + number - final + (0 if final else nieun))
    return title[:place] + wrong + title[place + 1 :]


def bare_author(author: str) -> str:
    """Return the first name of an author field, without role marks.

    >>> bare_author("제임스 코티건 (지은이), 맹서율 (옮긴이)"), bare_author("진무건 지음")
    ('제임스 코티건', '진무건')
    """
    return _AUTHOR.sub("", author).strip()


def _answer(workspace: Searchable, query: SampleQuery) -> SearchResponse | None:
    if query.query is None:
        return None
    request: dict[str, object] = {"query": query.query, "size": TOP}
    if query.filters:
        request["filters"] = dict(query.filters)
    return workspace.search(request, explain=True)


_Titled = tuple[int, str, str]  # book_id, title, author or ""


def _titled(books: pl.DataFrame, popularity: pl.DataFrame) -> list[_Titled]:
    """Return the 200 best-selling books with a title one could type, best first."""
    ranked = (
        books.join(popularity.select("book_id", "rank"), on="book_id", how="left")
        .filter(pl.col("title").str.len_chars().is_between(4, _LONGEST_TITLE))
        .sort("rank", "book_id", nulls_last=True)
        .head(200)
    )
    return [
        (book_id, unicodedata.normalize("NFC", title.strip()), bare_author(author or ""))
        for book_id, title, author in ranked.select("book_id", "title", "author").iter_rows()
        if has_letter_or_digit(title) and title.isprintable() and title.strip()
    ]


def _next(titled: list[_Titled], fits: "_Fits") -> _Titled | None:
    """Take the first book whose title fits out of the list."""
    for place, book in enumerate(titled):
        if fits(book[1]):
            return titled.pop(place)
    return None


class _Fits(Protocol):
    def __call__(self, title: str) -> bool: ...


def _most_frequent_author(books: pl.DataFrame) -> str | None:
    counted = (
        books.drop_nulls("author")
        .group_by("author")
        .len("books")
        .sort("books", "author", descending=[True, False])
        .head(20)
    )
    names = [bare_author(author) for author in counted["author"]]
    return next((n for n in names if has_letter_or_digit(n) and len(n) <= QUERY_MAX), None)
