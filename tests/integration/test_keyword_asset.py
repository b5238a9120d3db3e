"""The asset `keyword_index`: what is analysed again, what its identity depends on.

Each test names the line without which it fails. The builder is called on its own: no vectors.
"""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from lifehelper_data.domain.build import BuildReport
from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.domain.ids import text_id
from lifehelper_data.domain.search import analyse_query
from lifehelper_data.domain.search.exact_title import title_key
from lifehelper_data.models.korean import KoreanAnalyser
from lifehelper_data.pipelines.build_keyword import build_keyword
from lifehelper_data.pipelines.build_tables import build_tables
from lifehelper_data.stores.keyword_index import KeywordIndex
from lifehelper_data.stores.table_reader import read_rows
from tests.integration.build_kit import SOURCES, context
from tests.integration.search_kit import KIWI, Book, SearchShop, files_below

BOOKS = {
    1: Book(book_id=1, title="투자의 역사", author="김하늘", description="돈 이야기"),
    2: Book(book_id=2, title="바다 일기 ②", author="박바다"),
    3: Book(book_id=3, title="바다 일기 2", author="박바다", description="파도 이야기"),
    4: Book(book_id=4, title="!!!", description="느낌표 세 개"),
}
TEXTS = 4 + 3 + 3  # titles, authors, descriptions


def build(shop: SearchShop, books: Mapping[int, Book], **flags: object) -> BuildReport:
    shop.write(list(books.values()))
    made = context(shop.workspace, **flags)
    tables = build_tables(made, shop.folder / "source.toml").record.tables
    return build_keyword(made, tables)


def identity(report: BuildReport, name: str = "books_keyword") -> str:
    return report.record.artifacts[name].identity


def analysed(report: BuildReport) -> object:
    return report.record.facts["texts_analysed"]


def index(shop: SearchShop, report: BuildReport, name: str = "books_keyword") -> KeywordIndex:
    return KeywordIndex.open(shop.workspace / report.record.artifacts[name].path)


def found(opened: KeywordIndex, query: str) -> list[int]:
    books, _ = opened.search(analyse_query(query, KoreanAnalyser()), 10)
    return [int(book) for book in books]


@pytest.fixture
def shop(tmp_path: Path) -> SearchShop:
    return SearchShop(tmp_path / "shop")


def test_every_text_is_analysed_once_and_every_book_is_indexed(shop: SearchShop) -> None:
    report = build(shop, BOOKS)
    assert analysed(report) == TEXTS
    opened = index(shop, report)
    assert opened.book_ids.tolist() == [1, 2, 3, 4]
    assert found(opened, "투자를") == [1]
    assert set(found(opened, "파도")) == {3}
    opened.verify()


def test_title_numbers_are_those_of_the_normalised_titles_without_spaces(
    shop: SearchShop,
) -> None:  # without squash in title_key
    report = build(shop, BOOKS)
    table = report.record.tables["search_titles"]
    frame = read_rows(context(shop.workspace).layout, table, ("book_id", "title_key"))
    keys = dict(frame.iter_rows())
    assert keys == {n: title_key(book.title) for n, book in BOOKS.items()}
    assert keys[2] == keys[3] == title_key("바다일기2")
    assert keys[1] != keys[2]


def test_nothing_changed_analyses_nothing(
    shop: SearchShop, monkeypatch: pytest.MonkeyPatch
) -> None:  # without `reusable_record`
    first = build(shop, BOOKS)
    before = files_below(shop.workspace / "keyword")
    monkeypatch.setattr(KIWI, loaded_for_nothing)
    second = build(shop, BOOKS)
    assert second.reused
    assert identity(second) == identity(first)
    assert files_below(shop.workspace / "keyword") == before


def test_a_price_change_does_not_load_the_analyser(
    shop: SearchShop, monkeypatch: pytest.MonkeyPatch
) -> None:  # with `content_words` called for no text
    first = build(shop, BOOKS)
    before = files_below(shop.workspace / "keyword")
    monkeypatch.setattr(KIWI, loaded_for_nothing)
    second = build(shop, BOOKS | {2: replace(BOOKS[2], price=7)})
    assert (second.reused, analysed(second)) == (False, 0)
    assert identity(second) == identity(first)
    sizes = {name: size for name, (size, _) in files_below(shop.workspace / "keyword").items()}
    assert sizes == {name: size for name, (size, _) in before.items()}


def test_a_changed_text_is_the_only_one_analysed(shop: SearchShop) -> None:
    # with `previous=None` in `_index`
    build(shop, BOOKS)
    report = build(shop, BOOKS | {3: replace(BOOKS[3], description="등대 이야기")})
    assert analysed(report) == 1
    opened = index(shop, report)
    assert (found(opened, "등대"), found(opened, "파도")) == ([3], [])
    assert found(opened, "투자를") == [1]


def test_a_deleted_book_is_in_no_posting(shop: SearchShop) -> None:
    build(shop, BOOKS)
    fewer = {n: book for n, book in BOOKS.items() if n != 3}
    report = build(shop, fewer)
    assert analysed(report) == 0
    opened = index(shop, report)
    assert opened.book_ids.tolist() == [1, 2, 4]
    assert found(opened, "파도") == []
    assert found(opened, "바다 일기 2") == [2]


def test_a_grown_index_equals_a_fresh_one(shop: SearchShop, tmp_path: Path) -> None:
    # with the order of first occurrence in the vocabulary
    build(shop, {1: BOOKS[1], 3: replace(BOOKS[3], title="가을")})
    grown = build(shop, BOOKS)
    fresh = build(SearchShop(tmp_path / "other"), BOOKS)
    assert identity(grown) == identity(fresh)
    assert grown.record.tables["search_titles"].identity == (
        fresh.record.tables["search_titles"].identity
    )
    hashes = [
        {Path(f.path).name: f.bytes_sha256 for f in r.record.artifacts["books_keyword"].files}
        for r in (grown, fresh)
    ]
    assert hashes[0] == hashes[1]


def test_an_analyser_of_another_version_analyses_everything_again(
    shop: SearchShop, monkeypatch: pytest.MonkeyPatch
) -> None:  # without the version in `_input_digest`, or in build_keyword_index
    first = build(shop, BOOKS)
    monkeypatch.setattr(KoreanAnalyser, "version", "kiwi 99")
    second = build(shop, BOOKS)
    assert (second.reused, analysed(second)) == (False, TEXTS)
    assert identity(second) != identity(first)


def test_another_formula_makes_another_index_of_the_same_words(shop: SearchShop) -> None:
    # without the formula in `_input_digest`
    first = build(shop, BOOKS)
    second = build(shop, BOOKS, search__bm25_formula="okapi")
    assert (second.reused, analysed(second)) == (False, 0)
    assert identity(second) != identity(first)
    assert [r.record.artifacts["books_keyword"].facts["formula"] for r in (first, second)] == [
        "lucene",
        "okapi",
    ]


def test_another_weight_needs_no_other_index(shop: SearchShop) -> None:
    build(shop, BOOKS)
    assert build(shop, BOOKS, search__title_weight=9).reused


@pytest.mark.parametrize("damage", ["folder", "meta.json", "title.posting_impacts.npy"])
def test_a_lost_or_damaged_index_is_made_again(shop: SearchShop, damage: str) -> None:
    # without `except Unavailable` in `_previous`, or `missing_parts` in reusable_record
    first = build(shop, BOOKS)
    folder = shop.workspace / first.record.artifacts["books_keyword"].path
    if damage == "folder":
        shutil.rmtree(folder)
    else:
        (folder / damage).write_bytes(b"")
    second = build(shop, BOOKS)
    assert identity(second) == identity(first)
    opened = index(shop, second)
    opened.verify()
    assert found(opened, "투자를") == [1]


def test_an_empty_shop_has_an_empty_index(shop: SearchShop) -> None:
    report = build(shop, {})
    opened = index(shop, report)
    assert (len(opened), found(opened, "투자"), analysed(report)) == (0, [], 0)


def test_habits_are_found_by_title_tag_and_reason(tmp_path: Path) -> None:
    # without `why` in `_habits`; without its tags
    made = context(tmp_path)
    report = build_keyword(made, build_tables(made, SOURCES / "fixture_shop.toml").record.tables)
    opened = KeywordIndex.open(tmp_path / report.record.artifacts["habits_keyword"].path)
    sunlight = text_id("morning_sunlight")
    for query in ("아침 햇빛 쬐기", "생체리듬", "하루 시계를 맞추는 신호"):
        assert sunlight in found(opened, query), query


def test_an_unknown_formula_is_refused_by_name(shop: SearchShop) -> None:
    with pytest.raises(InvalidRequest, match=r"search\.bm25_formula") as refused:
        build(shop, BOOKS, search__bm25_formula="bm42")
    assert refused.value.field == "search.bm25_formula"


def loaded_for_nothing() -> None:
    raise AssertionError("the analyser was loaded although no text changed")
