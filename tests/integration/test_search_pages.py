"""Pages and business rules on real releases: nothing repeats, nothing is skipped."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lifehelper_data.domain.errors import CursorExpired, InvalidRequest, Unavailable
from lifehelper_data.domain.retention import Retention
from lifehelper_data.runtime.workspace import Workspace
from lifehelper_data.stores.gc import run_gc
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.secrets import cursor_key
from tests.conftest import examples
from tests.integration.build_kit import NOW, store
from tests.integration.search_kit import (
    LOAD_QUERY_ENCODER,
    Book,
    SearchShop,
    WordEncoder,
    built_fixture_shop,
    encoding_with,
    found_ids,
)

SORTS = ["relevance", "newest", "price_asc", "price_desc", "popular"]
WORDS = ["여름", "바다", "투자", "일기", "정원", "우주", "골목", "빵"]


def catalog(count: int, *, seed: int = 3) -> list[Book]:
    """Books with words in common, unknown prices and years among them, half with a description."""
    chance = random.Random(seed)
    return [
        Book(
            book_id=n,
            title=" ".join(chance.sample(WORDS, 2)) + f" {n % 7}",
            author=chance.choice(["한서윤", "민가람", None]),
            description=" ".join(chance.choices(WORDS, k=4)) if n % 2 else None,
            price=chance.choice([None, 8_000, 12_000, 12_000, 30_000]),
            pub_year=chance.choice([None, 1999, 2015, 2024]),
            in_stock=chance.random() < 0.7,
            category=chance.choice(["한국소설", "시", None]),
        )
        for n in range(1, count + 1)
    ]


@pytest.fixture(scope="module")
def encoder() -> Iterator[WordEncoder]:
    made = WordEncoder()
    with encoding_with(made):
        yield made


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, encoder: WordEncoder) -> SearchShop:
    made = SearchShop(tmp_path_factory.mktemp("paged")).write(catalog(160))
    made.build()
    return made


@pytest.fixture(scope="module")
def opened(shop: SearchShop) -> Iterator[Workspace]:
    with shop.open() as workspace:
        yield workspace


def pages(workspace: Workspace, request: dict[str, Any]) -> list[int]:
    """Follow the cursors to the end; returns all ids as they came."""
    found: list[int] = []
    response = workspace.search(request)
    while True:
        found += [r.book_id for r in response.results]
        assert (response.next_cursor is None) or len(response.results) == request["size"]
        if response.next_cursor is None:
            return found
        response = workspace.search({**request, "cursor": response.next_cursor})


def one_list(workspace: Workspace, request: dict[str, Any]) -> list[int]:
    from lifehelper_data.runtime.requests import parse_search_request

    ranking = workspace.search_engine().rank(parse_search_request(request))
    return [book.book_id for book in ranking.books]


def any_request(chance: random.Random, words: list[str]) -> dict[str, Any]:
    filters: dict[str, Any] = {}
    if chance.random() < 0.3:
        filters["price_max"] = chance.choice([8_000, 12_000, 20_000])
    if chance.random() < 0.2:
        filters["pub_year_from"] = chance.choice([2000, 2016])
    if chance.random() < 0.2:
        filters["in_stock_only"] = True
    return {
        "query": " ".join(chance.sample(words, chance.choice([1, 1, 2]))),
        "filters": filters,
        "sort": chance.choice(SORTS),
        "size": chance.choice([1, 3, 7, 15, 50]),
    }


def unavailable(_settings: object) -> None:
    raise Unavailable("the model is gone; install it")


def test_concatenated_pages_are_the_one_long_list(opened: Workspace) -> None:
    chance = random.Random(11)
    lengths = []
    for _ in range(examples(50)):
        request = any_request(chance, WORDS)
        whole = one_list(opened, request)
        assert pages(opened, request) == whole, request
        assert len(set(whole)) == len(whole)
        lengths.append(len(whole))
    assert max(lengths) > 50  # several pages even of the largest size


def test_concatenated_pages_are_the_one_long_list_on_the_fixture_shop(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    chance = random.Random(12)
    words = ["여행", "마음", "투자", "과학", "소설", "아이", "역사", "그림", "고양이", "커피"]
    with Workspace.open(built_fixture_shop(tmp_path_factory)) as workspace:
        with encoding_with(WordEncoder()):
            workspace.search_engine().preload()
        for _ in range(examples(25)):
            request = any_request(chance, words) | {"size": chance.choice([15, 50])}
            assert pages(workspace, request) == one_list(workspace, request), request


def test_page_two_comes_from_the_release_of_page_one(tmp_path: Path, encoder: WordEncoder) -> None:
    made = SearchShop(tmp_path).write(catalog(60))
    made.build()
    request = {"query": "바다", "size": 5}
    with made.open() as old:
        whole = one_list(old, request)
        first = old.search(request)
    changed = [book for book in catalog(60) if book.book_id not in whole[3:8]]
    made.write([*changed, Book(book_id=900, title="바다 바다 바다")]).build()
    with made.open() as new:
        second = new.search({**request, "cursor": first.next_cursor})
        assert (first.release_id, second.release_id, new.release.number) == (1, 1, 2)
        assert [r.book_id for r in second.results] == whole[5:10]
        assert new.search(request).release_id == 2


def test_a_cursor_of_a_release_that_is_gone_is_expired(
    tmp_path: Path, encoder: WordEncoder
) -> None:
    made = SearchShop(tmp_path).write(catalog(40))
    made.build()
    with made.open() as old:
        first = old.search({"query": "바다", "size": 2})
    for round_ in range(2):  # the one in service and the one before it always stay
        made.write([*catalog(40), Book(book_id=900 + round_, title="새 책")]).build()
    releases = store(made.workspace)
    nothing = Retention(keep_last=1, keep_younger_than=timedelta(0), keep_daily_days=0)
    with releases.writer_lock().hold(1, lambda *_: None) as lock:
        assert 1 in run_gc(releases, lock, retention=nothing).deleted_releases
    with made.open() as new, pytest.raises(CursorExpired, match="release 1, which is gone"):
        new.search({"query": "바다", "size": 2, "cursor": first.next_cursor})


@pytest.mark.parametrize(
    "changed",
    [
        {"query": "여름"},
        {"filters": {"in_stock_only": True}},
        {"filters": {"category": "시"}},
        {"sort": "price_asc"},
    ],
)
def test_a_cursor_belongs_to_one_search(opened: Workspace, changed: dict[str, Any]) -> None:
    request = {"query": "바다", "size": 3}
    cursor = opened.search(request).next_cursor
    assert cursor is not None
    with pytest.raises(CursorExpired, match="another search") as refused:
        opened.search({**request, **changed, "cursor": cursor})
    assert (refused.value.status, refused.value.field) == (410, "cursor")


def test_the_size_may_change_from_page_to_page(opened: Workspace) -> None:
    whole = one_list(opened, {"query": "바다"})
    first = opened.search({"query": "바다", "size": 3})
    second = opened.search({"query": "바다", "size": 10, "cursor": first.next_cursor})
    assert [r.book_id for r in second.results] == whole[3:13]


def test_a_cursor_of_a_whole_answer_does_not_go_on_in_a_degraded_one(
    shop: SearchShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop.open() as whole:
        cursor = whole.search({"query": "바다", "size": 3}).next_cursor

    monkeypatch.setattr(LOAD_QUERY_ENCODER, unavailable)
    with shop.open() as degraded:
        assert degraded.search({"query": "바다"}).degraded == "keyword-only"
        with pytest.raises(CursorExpired, match="another search"):
            degraded.search({"query": "바다", "size": 3, "cursor": cursor})


def test_a_cursor_ends_after_thirty_minutes(shop: SearchShop) -> None:
    now = [NOW]
    with Workspace.open(shop.workspace, clock=lambda: now[0]) as workspace:
        cursor = workspace.search({"query": "바다", "size": 3}).next_cursor
        now[0] = NOW + timedelta(minutes=30)
        assert workspace.search({"query": "바다", "size": 3, "cursor": cursor}).results
        now[0] = NOW + timedelta(minutes=30, seconds=2)
        with pytest.raises(CursorExpired, match="lives 30 min"):
            workspace.search({"query": "바다", "size": 3, "cursor": cursor})


def test_processes_share_the_key_and_a_configured_secret_replaces_it(
    shop: SearchShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = {"query": "바다", "size": 3}
    with shop.open() as one, shop.open() as other:
        cursor = one.search(request).next_cursor
        assert other.search({**request, "cursor": cursor}).results
    key_file = Layout(shop.workspace).cursor_key
    assert key_file.stat().st_mode & 0o077 == 0
    assert cursor_key(Layout(shop.workspace)) == key_file.read_bytes()
    monkeypatch.setenv("LIFEHELPER__CURSOR__SECRET", "of the whole farm")
    with shop.open() as configured:
        with pytest.raises(CursorExpired, match="not issued here"):
            configured.search({**request, "cursor": cursor})
        own = configured.search(request).next_cursor
        assert configured.search({**request, "cursor": own}).results
        assert "of the whole farm" not in repr(configured._settings)


def test_sort_rules_order_the_pool_and_unknown_values_stand_last(opened: Workspace) -> None:
    books = {book.book_id: book for book in catalog(160)}
    for sort, value, sign in (
        ("price_asc", "price", 1), ("price_desc", "price", -1), ("newest", "pub_year", -1),
    ):  # fmt: skip
        found = one_list(opened, {"query": "바다", "sort": sort})
        values = [getattr(books[b], value) for b in found]
        known = [v for v in values if v is not None]
        assert len(known) < len(values)
        assert values == sorted(known, key=lambda v: sign * v) + [None] * (len(values) - len(known))


def test_only_the_first_of_the_vector_leg_are_sorted(shop: SearchShop) -> None:
    from lifehelper_data.runtime.requests import parse_search_request
    from lifehelper_data.settings import load_settings

    def pool(**tunables: object) -> set[int]:
        flags = {f"search.{name}": value for name, value in tunables.items()}
        settings = load_settings(None, {}, flags)
        with Workspace.open(shop.workspace, settings=settings) as workspace:
            request = parse_search_request({"query": "바다", "sort": "price_asc"})
            return {b.book_id for b in workspace.search_engine().rank(request).books}

    none, some, more = (pool(sort_vector_pool=n) for n in (0, 20, 50))
    assert none < more
    assert len(some - none) <= 20
    assert none <= some <= more


def test_popularity_sorts_and_boosts(tmp_path: Path) -> None:
    from tests.integration.build_kit import TinyShop, build

    made = TinyShop.create(tmp_path / "shop", books=6)
    made.write("purchases.csv", "user_id,book_id,purchased_at", [
        f"{user},{book},2026-05-0{user} 10:00:00" for user, book in ((1, 4), (2, 4), (3, 2))
    ])  # fmt: skip
    made.write("reviews.csv", "user_id,book_id,rating,created_at", [])
    build(tmp_path / "workspace", made.mapping, run__search_assets=True)
    with Workspace.open(tmp_path / "workspace") as workspace:
        assert found_ids(workspace, "책", sort="popular") == [4, 2, 1, 3, 5, 6]
        assert found_ids(workspace, "책") == [1, 2, 3, 4, 5, 6]
    from lifehelper_data.settings import load_settings

    boosted = load_settings(None, {}, {"search.popularity_boost": 0.1})
    with Workspace.open(tmp_path / "workspace", settings=boosted) as workspace:
        first = workspace.search({"query": "책"}, explain=True).results[0]
        assert first.book_id == 4
        assert first.explanation is not None
        assert first.explanation.popularity_term == 0.1  # 0.1 x the value of the best seller
        legs = sum(leg.contribution for leg in first.explanation.legs)
        assert first.explanation.fused_score == pytest.approx(legs + 0.1, abs=1e-12)


def test_contributions_sum_to_the_fused_score(opened: Workspace) -> None:
    seen = 0
    for word in WORDS:
        for result in opened.search({"query": word, "size": 50}, explain=True).results:
            why = result.explanation
            assert why is not None
            total = sum(leg.contribution for leg in why.legs) + why.popularity_term
            assert abs(total - why.fused_score) <= 1e-12
            for leg in why.legs:
                assert leg.contribution == 1 / (60 + leg.rank)
            seen += len(why.legs) == 2
    assert seen > 10


def test_better_vector_only_hits_are_never_left_out(opened: Workspace) -> None:
    for word in [*WORDS, "바다 여름"]:
        response = opened.search({"query": word, "size": 50}, explain=True)
        ranks = [
            {leg.leg: leg.rank for leg in r.explanation.legs}
            for r in response.results
            if r.explanation is not None
        ]
        vector_only = [found["vector"] for found in ranks if set(found) == {"vector"}]
        both = [found["vector"] for found in ranks if set(found) == {"vector", "keyword"}]
        assert vector_only == sorted(vector_only)
        if vector_only:
            assert set(range(1, max(vector_only) + 1)) <= {*vector_only, *both}


def test_the_order_of_the_source_does_not_matter(tmp_path: Path, encoder: WordEncoder) -> None:
    books = catalog(40)
    answers = []
    for round_ in range(examples(5)):
        random.Random(round_).shuffle(books)
        made = SearchShop(tmp_path / str(round_)).write(books)
        made.build()
        with made.open() as workspace:
            answers.append(
                [one_list(workspace, {"query": w, "sort": s}) for w in WORDS[:3] for s in SORTS]
            )
    assert all(answer == answers[0] for answer in answers)


@pytest.mark.parametrize(
    ("changed", "field"),
    [({"sort": "cheapest"}, "sort"), ({"cursor": 7}, "cursor"), ({"size": 51}, "size")],
)
def test_wrong_values_are_refused_by_field(
    opened: Workspace, changed: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        opened.search({"query": "바다", **changed})
    assert refused.value.field == field


def test_habits_are_searched_by_the_same_engine(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LOAD_QUERY_ENCODER, unavailable)
    with Workspace.open(built_fixture_shop(tmp_path_factory)) as workspace:
        listed = workspace.search_habits({"category": "sleep", "limit": 20})
        names = [item.item_id for item in listed.items]
        assert "morning_sunlight" in names
        assert names == sorted(names)
        found = workspace.search_habits({"query": "아침 햇빛"})
        assert found.items[0].item_id == "morning_sunlight"
        assert found.degraded == "keyword-only"
        assert len(found.items) <= 5
        breaks = workspace.search_habits({"query": "술", "kind": "break", "limit": 20})
        assert {item.kind for item in breaks.items} == {"break"}
        assert "alcohol" in [item.item_id for item in breaks.items]
        assert workspace.search_habits({"query": "?!"}).items == ()
        with pytest.raises(InvalidRequest) as refused:
            workspace.search_habits({"limit": 21})
        assert refused.value.field == "limit"


def test_the_clock_of_a_cursor_is_the_injected_one(shop: SearchShop) -> None:
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    with Workspace.open(shop.workspace, clock=lambda: long_ago) as workspace:
        cursor = workspace.search({"query": "바다", "size": 3}).next_cursor
    with shop.open() as workspace, pytest.raises(CursorExpired, match="2020-01-01"):
        workspace.search({"query": "바다", "size": 3, "cursor": cursor})
