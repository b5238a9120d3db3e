"""Which searches the page makes, and what it says when they cannot be made."""

from collections.abc import Mapping

import polars as pl
import pytest

from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.evaluation.report.samples import (
    SampleAnswer,
    SampleQuery,
    ask,
    bare_author,
    choose_queries,
    one_letter_wrong,
)
from lifehelper_data.runtime.search_results import SearchResponse, SearchResult

BOOKS = [
    (1, "달의 뒷면을 걷다", "한가람"),
    (2, "고양이 서점의 하루", "윤새벽 (지은이), 나도 (옮긴이)"),
    (3, "바다로 간 우체부", "윤새벽 (지은이), 나도 (옮긴이)"),
    (4, "삼국지", None),
    (5, "겨울 정원사", "한가람"),
    (6, "느린 기차 여행", "윤새벽 (지은이), 나도 (옮긴이)"),
]
RANKS = {5: 1, 2: 2, 4: 3, 1: 4, 3: 5, 6: 6}


def books(rows: list[tuple[int, str, str | None]]) -> pl.DataFrame:
    schema = {"book_id": pl.Int64, "title": pl.String, "author": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def ranks(given: Mapping[int, int]) -> pl.DataFrame:
    return pl.DataFrame(
        {"book_id": list(given), "rank": list(given.values())},
        schema={"book_id": pl.Int64, "rank": pl.UInt32},
    )


def chosen(rows: list[tuple[int, str, str | None]]) -> dict[str, SampleQuery]:
    return {query.kind: query for query in choose_queries(books(rows), ranks(RANKS))}


def test_known_books_are_the_best_selling_ones_each_once() -> None:
    queries = chosen(BOOKS)
    assert len(queries) == 10
    known = {kind: (q.query, q.book_id) for kind, q in queries.items() if q.book_id is not None}
    assert known == {
        "exact title": ("겨울 정원사", 5),
        "title without its spaces": ("고양이서점의하루", 2),
        # 4 is too short a title; of 달의 뒷면을 걷다 the 4th of 7 syllables loses its final
        "title with one letter wrong": ("달의 뒷며을 걷다", 1),
        "author and the first word of the title": ("윤새벽 바다로", 3),
    }


def test_the_author_is_the_one_with_most_books() -> None:
    assert chosen(BOOKS)["author with the most books"].query == "윤새벽"


def test_row_order_does_not_matter() -> None:
    assert chosen(BOOKS) == chosen(BOOKS[::-1])


def test_an_empty_catalog_leaves_only_the_fixed_queries() -> None:
    asked = [query.query for query in chosen([]).values()]
    assert asked[:5] == [None] * 5
    assert None not in asked[5:]


def test_titles_nobody_could_type_are_passed_over() -> None:
    rows: list[tuple[int, str, str | None]] = [
        (5, "\x00\x01\x02\x03", None), (2, "!!!!!", None), (4, "가" * 300, None),
        (1, "읽는 사람들", None),
    ]  # fmt: skip
    assert chosen(rows)["exact title"].query == "읽는 사람들"


@pytest.mark.parametrize(
    ("author", "name"),
    [
        ("윤새벽", "윤새벽"),
        ("윤새벽 (지은이), 나도 (옮긴이)", "윤새벽"),
        ("윤새벽 지음", "윤새벽"),
        ("윤새벽, 나도", "윤새벽"),
        ("J. K. 롤링/김혜원", "J. K. 롤링"),
        ("이상글", "이상글"),
    ],
)
def test_an_author_without_roles(author: str, name: str) -> None:
    assert bare_author(author) == name


def test_a_letter_wrong_changes_one_syllable() -> None:
    assert one_letter_wrong("바다로 간 우체부") == "바다로 가 우체부"
    assert one_letter_wrong("메타포 워즈") == "메타폰 워즈"
    assert one_letter_wrong("가나") is None


class OneBook:
    """Finds book 7 whatever is asked, and remembers what was."""

    def __init__(self) -> None:
        self.asked: list[Mapping[str, object]] = []

    def search(self, request: Mapping[str, object], *, explain: bool = False) -> SearchResponse:
        assert explain
        self.asked.append(request)
        book = SearchResult(
            book_id=7, title="책", author=None, publisher=None, price=None, in_stock=True,
            cover_url=None,
        )  # fmt: skip
        return SearchResponse(
            results=(book,), next_cursor=None, fallback=None, degraded=None, release_id=1
        )


class NotSearchable:
    def search(self, request: Mapping[str, object], *, explain: bool = False) -> SearchResponse:
        raise Unavailable("release 1 has no keyword index")


def test_what_cannot_be_asked_is_not_asked_and_counts_as_no_place() -> None:
    shop = OneBook()
    answers = ask(
        shop,
        [
            SampleQuery(kind="a", query=None),
            SampleQuery(kind="b", query="책", filters={"price_max": 9}, book_id=7),
            SampleQuery(kind="c", query="책", book_id=8),
        ],
    )
    assert isinstance(answers, list)
    assert shop.asked == [
        {"query": "책", "size": 5, "filters": {"price_max": 9}}, {"query": "책", "size": 5},
    ]  # fmt: skip
    assert [answer.place for answer in answers] == [None, 1, None]
    assert answers[0] == SampleAnswer(asked=SampleQuery(kind="a", query=None), response=None)


def test_a_release_that_cannot_be_searched_says_why() -> None:
    queries = [SampleQuery(kind="a", query="책")]
    assert ask(NotSearchable(), queries) == "release 1 has no keyword index"
