"""Search on the built fixture shop: committed vectors of its books, the real query encoder."""

import csv
import json
from collections.abc import Iterator

import pytest

from lifehelper_data.domain.text.normalize import normalize, squash
from lifehelper_data.runtime.workspace import Workspace
from tests.conftest import examples
from tests.integration.build_kit import ROOT, run
from tests.integration.search_kit import (
    WordEncoder,
    built_fixture_shop,
    encoding_with,
    found_ids,
)

REQUESTS: list[dict[str, object]] = [
    {"query": "비 오는 날 읽기 좋은 추리 소설", "size": 20},
    {"query": "투자를", "filters": {"category": "경제경영", "price_max": 20_000}},
    {"query": "골목 탐정 오만수 2"},
    {"query": "?!"},
]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with Workspace.open(built_fixture_shop(tmp_path_factory)) as opened:
        yield opened


@pytest.fixture(scope="module")
def by_words(shop: Workspace) -> Iterator[Workspace]:
    """The same release with vectors of queries that cost nothing: near no book, in any order."""
    with Workspace.open(shop.path) as opened:
        with encoding_with(WordEncoder()):
            opened.search_engine().preload()
        yield opened


@pytest.fixture(scope="module")
def titles() -> dict[int, str]:
    with (ROOT / "fixtures/shop/books.csv").open(encoding="utf-8", newline="") as file:
        rows = {int(row["book_id"]): row["title"] for row in csv.DictReader(file)}
    return {book: rows[book] for book in sorted(rows)}


def sample(titles: dict[int, str], count: int) -> dict[int, str]:
    """Every n-th book, spread over the catalog."""
    return dict(list(titles.items())[:: max(1, len(titles) // count)])


def same_title(titles: dict[int, str], title: str) -> list[int]:
    return [book for book, other in titles.items() if squash(other) == squash(title)]


def wrong_letter(title: str) -> str:
    """The title with the letter in its middle replaced."""
    letters = [at for at, mark in enumerate(title) if mark.isalpha()]
    at = letters[len(letters) // 2]
    return title[:at] + ("뷁" if title[at] != "뷁" else "가") + title[at + 1 :]


def test_exact_titles_and_their_nfkc_variants_are_first(
    by_words: Workspace, titles: dict[int, str]
) -> None:
    for title in sample(titles, examples(30)).values():
        same = same_title(titles, title)
        for written in {title, normalize(title), title.replace(" ", "\u3000"), squash(title)}:
            assert found_ids(by_words, written)[: len(same)] == same, (title, written)


def test_the_titles_with_circled_and_roman_numerals_are_found_by_plain_ones(
    by_words: Workspace, titles: dict[int, str]
) -> None:
    odd = {b: t for b, t in titles.items() if normalize(t) != t.casefold() and not t.isascii()}
    assert any("②" in title for title in odd.values())
    for book, title in odd.items():
        assert book in found_ids(by_words, normalize(title), size=5), title


def test_one_wrong_letter_still_finds_most_books(
    by_words: Workspace, titles: dict[int, str]
) -> None:
    chosen = {b: t for b, t in sample(titles, examples(40)).items() if len(squash(t)) >= 4}
    found = [
        book in found_ids(by_words, wrong_letter(title), size=10) for book, title in chosen.items()
    ]
    assert sum(found) >= 0.85 * len(found)


def test_filters_hold_for_every_result(shop: Workspace) -> None:
    table = {row["book_id"]: row for row in shop.table("books").to_dicts()}
    core = {
        row["class"]
        for row in shop.table("category_map").to_dicts()
        if (row["category"], row["strength"]) == ("소설", "core")
    }
    filters = {"category": "소설", "price_min": 10_000, "price_max": 15_000, "pub_year_from": 2015}
    found = found_ids(shop, "사랑", size=50, filters={**filters, "in_stock_only": True})
    assert len(found) >= 5
    for book in found:
        row = table[book]
        assert row["category"] in core
        assert 10_000 <= row["price"] <= 15_000
        assert row["pub_year"] >= 2015
        assert row["in_stock"]


def test_a_question_in_other_words_is_answered_by_meaning(shop: Workspace) -> None:
    response = shop.search({"query": "돈을 굴리는 법을 처음 배우는 사람", "size": 10}, explain=True)
    legs = [{leg.leg for leg in r.explanation.legs} for r in response.results if r.explanation]
    assert response.degraded is None
    assert any("vector" in found for found in legs)


def test_explanations_recompute_every_score(shop: Workspace) -> None:
    for request in REQUESTS:
        for result in shop.search(request, explain=True).results:
            why = result.explanation
            assert why is not None
            assert why.fused_score == sum(1 / (60 + leg.rank) for leg in why.legs)
            keyword = [leg.score for leg in why.legs if leg.leg == "keyword"]
            if keyword:
                assert sum(match.contribution for match in why.matched) == keyword[0]


def without_cursor(answer: dict[str, object]) -> str:
    """An answer as text; a cursor says when it was issued."""
    return json.dumps({**answer, "next_cursor": None})


def test_the_same_request_gives_the_same_bytes_in_any_order_and_process(shop: Workspace) -> None:
    def answers(opened: Workspace, requests: list[dict[str, object]]) -> dict[str, str]:
        found = {str(r["query"]): opened.search(r, explain=True).to_dict() for r in requests}
        return {query: without_cursor(answer) for query, answer in found.items()}

    first = answers(shop, REQUESTS)
    with Workspace.open(shop.path) as opened:
        assert answers(opened, REQUESTS[::-1]) == first
    asked = shop.path / "request.json"
    asked.write_text(json.dumps(REQUESTS[1]), encoding="utf-8")
    printed = run("search", "--workspace", shop.path, "--request", asked, "--explain")
    assert without_cursor(printed) == first["투자를"]
