"""The rules of search on real indexes: synthetic shops, the real Korean analyser, known vectors.

Each test names the line without which it fails.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.runtime.workspace import Workspace
from tests.integration.search_kit import (
    Book,
    SearchShop,
    WordEncoder,
    encoding_with,
    found_ids,
)

NOVELS = [("소설", "한국소설", "core"), ("소설", "영미소설", "core"), ("소설", "시", "partial")]
SMALL = [
    Book(book_id=1, title="메타포 워즈 ②", author="김하늘", description="은유 전쟁"),
    Book(book_id=2, title="ＡＢＣ 영어 첫걸음", author="박바다", description="알파벳 공부"),
    Book(book_id=3, title="투자의 역사", author="이산", description="돈 시장", price=None),
    Book(book_id=4, title="바다 일기", description="바다 파도", category="한국소설", pub_year=None),
    Book(book_id=5, title="바다 편지", description="바다 파도", category="영미소설", pub_year=1999),
    Book(book_id=6, title="바다 노래", description="바다 파도", category="시", in_stock=False),
    Book(book_id=7, title="바다 그림", category="소설", price=30_000, pub_year=2024),
    Book(book_id=8, title="소설", description="이야기 짓기", author="김하늘"),
    Book(book_id=10, title="부엌에서 온 소식"),  # shares the particle of "바다에서"
]


@pytest.fixture(scope="module")
def encoder() -> Iterator[WordEncoder]:
    made = WordEncoder()
    with encoding_with(made):
        yield made


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, encoder: WordEncoder) -> SearchShop:
    made = SearchShop(tmp_path_factory.mktemp("small")).write(SMALL, category_map=NOVELS)
    made.build()
    return made


@pytest.fixture(scope="module")
def small(shop: SearchShop) -> Iterator[Workspace]:
    with shop.open() as opened:
        yield opened


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, encoder: WordEncoder) -> Iterator[Workspace]:
    """2,000 books about the sea; three of them cheap, two of which nobody would list first."""
    books = [
        Book(
            book_id=n,
            title=f"바다 이야기 {n}",
            description="바다",
            price=5_000 if n in {7, 1_000, 1_999} else 20_000,
        )
        for n in range(1, 2_001)
        if n not in {1_000, 1_234, 1_999}
    ]
    books += [
        Book(book_id=1_000, title="먼 산", description="바다 산 들 강 숲", price=5_000),
        Book(book_id=1_234, title="바다", description="전혀 다른 것만 적힌 아주 긴 소개"),
        Book(book_id=1_999, title="바다 생물 도감과 바닷가 산책 안내", price=5_000),
    ]
    made = SearchShop(tmp_path_factory.mktemp("large")).write(books)
    made.build()
    with made.open() as opened:
        yield opened


@pytest.mark.parametrize(
    ("query", "book"),
    [
        ("메타포 워즈 2", 1),  # without NFKC in `normalize`
        ("메타포\u3000워즈\t②", 1),
        ("abc", 2),  # without casefold
        ("ＡＢＣ", 2),
        ("메타포워즈", 1),  # without the bigram fields
        ("메타포 위즈", 1),  # one wrong letter: the same
        ("투자를", 3),  # without the analyser: words split at spaces
        ("역사에서의", 3),
        ("알파벳을", 2),  # without the description field
    ],
)
def test_spelling_spaces_particles_and_one_wrong_letter_still_find_the_book(
    small: Workspace, query: str, book: int
) -> None:
    response = small.search({"query": query}, explain=True)
    first = response.results[0]
    assert first.book_id == book
    assert first.explanation is not None
    assert first.explanation.legs[0].leg == "keyword"  # not by its vector alone
    assert first.explanation.legs[0].rank == 1


@pytest.mark.parametrize(("with_particle", "bare"), [("투자를", "투자"), ("바다에서", "바다")])
def test_a_particle_leaves_the_keyword_leg_as_it_is(
    small: Workspace, with_particle: str, bare: str
) -> None:  # without `bare` in analyse_query: bigrams of the particle count
    def keyword_leg(query: str) -> list[tuple[int, float]]:
        response = small.search({"query": query, "size": 50}, explain=True)
        legs = [(r.book_id, leg) for r in response.results for leg in r.explanation.legs]  # type: ignore[union-attr]  # explained above
        found = [(leg.rank, book, leg.score) for book, leg in legs if leg.leg == "keyword"]
        return [(book, score) for _, book, score in sorted(found)]

    assert keyword_leg(with_particle) == keyword_leg(bare) != []


@pytest.mark.parametrize(
    ("filters", "books"),
    [
        ({"category": "소설"}, {4, 5, 7}),  # core classes and the class of that name, not partial
        ({"category": "시"}, {6}),  # a class only; without `own` in filter_classes
        ({"category": "영미소설"}, {5}),
        ({"in_stock_only": True}, {4, 5, 7}),
        ({"price_max": 10_000}, {4, 5, 6}),
        ({"price_min": 10_001}, {7}),
        ({"pub_year_from": 2000}, {6, 7}),  # 4 has no year; without `values >= 0`
        ({"pub_year_to": 2024}, {5, 6, 7}),
        ({"category": "소설", "in_stock_only": True, "pub_year_to": 2024}, {5, 7}),
    ],
)
def test_filters_keep_what_meets_them(
    small: Workspace, filters: dict[str, object], books: set[int]
) -> None:
    # the vector leg lists any book: only those with the word in the title are compared
    found = set(found_ids(small, "바다", filters=filters))
    assert found & {4, 5, 6, 7} == books
    assert found <= books | {1, 2, 3, 8}


def test_a_book_without_price_or_year_passes_when_no_bound_is_set(small: Workspace) -> None:
    assert found_ids(small, "투자의 역사")[0] == 3
    assert 3 not in found_ids(small, "투자의 역사", filters={"price_min": 0})
    assert found_ids(small, "투자의 역사", filters={"pub_year_from": 0})[0] == 3
    assert 4 not in found_ids(small, "바다 일기", filters={"pub_year_from": 0})


def test_an_unknown_category_is_refused(small: Workspace) -> None:
    with pytest.raises(InvalidRequest, match=r"'요가'.*소설") as refused:
        small.search({"query": "바다", "filters": {"category": "요가"}})
    assert refused.value.field == "filters.category"


def test_a_filter_that_leaves_three_of_two_thousand_books_returns_those_three(
    large: Workspace,
) -> None:  # with the filter after the legs: their pools of 200 and 50 hold book 7 at most
    cheap = {"price_max": 5_000}
    response = large.search({"query": "바다", "filters": cheap, "size": 50}, explain=True)
    legs: dict[str, set[int]] = {"keyword": set(), "vector": set()}
    for result in response.results:
        for reason in result.explanation.legs if result.explanation else ():
            legs[reason.leg].add(result.book_id)
    assert {r.book_id for r in response.results} == {7, 1_000, 1_999}
    assert legs["keyword"] == {7, 1_000, 1_999}
    assert legs["vector"] == {7, 1_000}  # the third has no description
    unfiltered = large.search({"query": "바다", "size": 50}, explain=True)
    assert not {1_000, 1_999} & {r.book_id for r in unfiltered.results}


def test_an_exact_title_comes_first_however_many_books_hold_the_word(large: Workspace) -> None:
    # without exact_titles_first: its description makes it a distant hit
    assert found_ids(large, "바다")[0] == 1_234
    assert found_ids(large, "바 다", size=1) == [1_234]
    assert found_ids(large, "바다 이야기 777")[0] == 777


def test_an_exact_title_is_found_although_the_pools_cut_it_off(
    tmp_path: Path, encoder: WordEncoder
) -> None:  # without `exact` books in exact_titles_first that no leg found
    books = [Book(book_id=n, title="바다 바다 바다", description="바다") for n in range(1, 301)]
    books += [Book(book_id=900, title="바다", author="긴 이름"), Book(book_id=800, title="바 다")]
    made = SearchShop(tmp_path).write(books)
    made.build(search__keyword_pool=10, search__vector_pool=10)
    with made.open() as opened:
        response = opened.search({"query": "바다", "size": 50}, explain=True)
    places = [(r.book_id, r.explanation.exact_title) for r in response.results[:3] if r.explanation]
    assert places[:2] == [(800, True), (900, True)]
    assert places[2] == (1, False)
    assert len(response.results) == 12  # ten of the pools and both exact titles


def test_equal_books_stand_in_order_of_their_ids(
    tmp_path: Path, encoder: WordEncoder
) -> None:  # without the position as last sort key in either leg
    books = [Book(book_id=n, title="겨울 산", description="눈길") for n in (31, 4, 77, 12, 5)]
    made = SearchShop(tmp_path).write(books)
    made.build()
    with made.open() as opened:
        assert found_ids(opened, "겨울") == [4, 5, 12, 31, 77]


def test_a_query_of_marks_only_finds_nothing(small: Workspace) -> None:
    response = small.search({"query": "?!…"})
    assert response.results == ()
    assert response.fallback is not None
    assert response.degraded is None


def test_an_explanation_recomputes_fused_and_keyword_score(small: Workspace) -> None:
    for query in ("바다", "메타포워즈 2", "투자를", "김하늘 소설", "바다 바다 파도"):
        response = small.search({"query": query, "size": 50}, explain=True)
        assert response.results
        for result in response.results:
            why = result.explanation
            assert why is not None
            assert why.fused_score == sum(1 / (60 + leg.rank) for leg in why.legs)
            keyword = [leg.score for leg in why.legs if leg.leg == "keyword"]
            assert sum(match.contribution for match in why.matched) == (keyword or [0])[0]
        for leg in ("keyword", "vector"):
            ranks = [found.rank for r in response.results for found in r.explanation.legs  # type: ignore[union-attr]  # explained above
                     if found.leg == leg]  # fmt: skip
            assert sorted(ranks) == list(range(1, len(ranks) + 1))
