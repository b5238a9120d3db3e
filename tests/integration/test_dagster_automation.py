"""The daemon, driven by hand: what each change at the source sets going, and what it leaves."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lifehelper_data.domain.release import ReleaseState
from tests.integration.dagster_kit import (
    DERIVED,
    RELEASED,
    Cockpit,
    Daemon,
    Started,
    book_line,
    described_shop,
    open_cockpit,
    running,
    started_cockpit,
)
from tests.integration.search_kit import found_ids

NEW_BOOK = book_line(13, "고래의 노래")
REINDEXED = {
    "keyword_index",
    "habit_keyword_index",
    "catalog_embeddings",
    "habit_embeddings",
    "popularity",
}


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Started:
    return started_cockpit(tmp_path_factory)


@pytest.fixture
def cockpit(started: Started, tmp_path: Path) -> Iterator[tuple[Cockpit, Daemon]]:
    """A shop that runs, with nothing to do."""
    with running(started, tmp_path) as opened:
        yield opened


def loaded(shop: Cockpit, daemon: Daemon) -> list[set[str]]:
    """Load, and let the daemon do what follows; return what it asked for."""
    shop.run_job("load_tables")
    return daemon.until_quiet()


def add_line(shop: Cockpit, name: str, line: str) -> None:
    path = shop.shop.folder / name
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")


def waiting_and_leaving(shop: Cockpit) -> tuple[object, object]:
    facts = shop.current.content.facts
    waiting, leaving = facts["waiting"], facts["leaving"]
    assert isinstance(waiting, dict)
    assert isinstance(leaving, dict)
    return waiting["books"], leaving["books"]


def test_the_first_load_ends_with_a_release_in_service(started: Started, tmp_path: Path) -> None:
    assert set().union(*started.asked) == DERIVED | set().union(*RELEASED)
    with running(started, tmp_path) as (shop, daemon):
        assert shop.store.current_number() == 1
        assert shop.current.content.tables["books"].rows == 12
        with shop.open() as opened:
            assert found_ids(opened, "바다")[0] == 1
        assert daemon.until_quiet() == []


def test_a_daemon_that_runs_before_the_first_load_waits_for_it(tmp_path: Path) -> None:
    described_shop(tmp_path / "shop")
    with open_cockpit(tmp_path, remembers=True) as shop:
        daemon = Daemon(shop)
        assert daemon.until_quiet() == []
        asked = loaded(shop, daemon)
        assert set().union(*asked) == DERIVED | set().union(*RELEASED)
        assert shop.store.current_number() == 1


def test_price_and_stock_are_served_without_touching_texts_or_vectors(
    cockpit: tuple[Cockpit, Daemon],
) -> None:
    shop, daemon = cockpit
    before = {name: shop.record(name) for name in ("catalog", "keyword_index", "embeddings")}
    shop.shop.replace("books.csv", book_line(7), book_line(7).replace("9700,true", "7700,false"))
    assert loaded(shop, daemon) == RELEASED
    assert shop.current.number == 2
    assert shop.prices() == {i: 7700 if i == 7 else 9000 + 100 * i for i in range(1, 13)}
    with shop.open() as opened:
        books = opened.table("books").sort("book_id")
    assert books["in_stock"].to_list() == [i != 7 for i in range(1, 13)]
    assert {name: shop.record(name) for name in before} == before
    assert shop.encoder.documents == []


def test_a_purchase_is_served_and_counted_once_a_day(cockpit: tuple[Cockpit, Daemon]) -> None:
    shop, daemon = cockpit
    add_line(shop, "purchases.csv", "99,5,2026-03-20 10:00:00")
    assert loaded(shop, daemon) == RELEASED  # no index, no vector, no popularity
    with shop.open() as opened:
        assert opened.table("user_purchases").filter(user_id=99)["book_id"].to_list() == [5]
        before = dict(opened.table("popularity").select("book_id", "sales").iter_rows())
    shop.run_job("count_popularity")
    assert daemon.until_quiet() == RELEASED
    assert shop.current.number == 3
    with shop.open() as opened:
        after = dict(opened.table("popularity").select("book_id", "sales").iter_rows())
    assert after[5] == before[5] + 1


def test_counting_again_without_new_sales_sets_nothing_going(
    cockpit: tuple[Cockpit, Daemon],
) -> None:
    shop, daemon = cockpit
    shop.run_job("count_popularity")
    assert daemon.until_quiet() == []


def test_nothing_changed_sets_nothing_going(cockpit: tuple[Cockpit, Daemon]) -> None:
    shop, daemon = cockpit
    assert loaded(shop, daemon) == []
    shop.run_job("full_read")
    assert daemon.until_quiet() == []
    assert shop.store.numbers() == [1]


def test_texts_taken_over_again_set_nothing_going(cockpit: tuple[Cockpit, Daemon]) -> None:
    shop, daemon = cockpit
    shop.run_job("index_catalog")
    assert daemon.until_quiet() == []


def test_a_new_book_waits_for_its_index_and_then_comes_with_its_vector(
    cockpit: tuple[Cockpit, Daemon],
) -> None:
    shop, daemon = cockpit
    add_line(shop, "books.csv", NEW_BOOK)
    assert loaded(shop, daemon) == RELEASED
    assert waiting_and_leaving(shop) == (1, 0)
    assert 13 not in shop.prices()
    shop.run_job("index_catalog")
    asked = daemon.until_quiet()
    assert set().union(*asked) == REINDEXED | {"similarity_calibration"} | set().union(*RELEASED)
    assert len(shop.encoder.documents) == 1
    assert "고래의 노래" in shop.encoder.documents[0]
    assert waiting_and_leaving(shop) == (0, 0)
    assert shop.prices()[13] == 10_300
    with shop.open() as opened:
        assert found_ids(opened, "고래")[0] == 13
        assert 13 in opened.table("popularity")["book_id"].to_list()


def test_a_changed_text_keeps_the_old_one_with_the_new_price_until_indexed(
    cockpit: tuple[Cockpit, Daemon],
) -> None:
    shop, daemon = cockpit
    shop.shop.replace("books.csv", book_line(1, "바다 여행"), "1,책 1,5000,true,소설,산과 강")
    assert loaded(shop, daemon) == RELEASED
    with shop.open() as opened:
        row = opened.table("books").filter(book_id=1).row(0, named=True)
        assert (row["description"], row["price"]) == ("바다 여행", 5000)
        assert found_ids(opened, "바다")[0] == 1
    assert shop.encoder.documents == []
    shop.run_job("index_catalog")
    daemon.until_quiet()
    assert len(shop.encoder.documents) == 1
    with shop.open() as opened:
        assert opened.table("books").filter(book_id=1)["description"].to_list() == ["산과 강"]
        assert found_ids(opened, "산과 강")[0] == 1


def test_a_deleted_book_stays_until_its_index_goes(cockpit: tuple[Cockpit, Daemon]) -> None:
    shop, daemon = cockpit
    shop.shop.replace("books.csv", book_line(4, "작은 부엌") + "\n", "")
    assert loaded(shop, daemon) == RELEASED
    assert waiting_and_leaving(shop) == (0, 1)
    with shop.open() as opened:
        assert found_ids(opened, "부엌")[0] == 4
    shop.run_job("index_catalog")
    daemon.until_quiet()
    assert waiting_and_leaving(shop) == (0, 0)
    assert 4 not in shop.prices()
    with shop.open() as opened:
        assert 4 not in found_ids(opened, "부엌")
    assert shop.encoder.documents == []


def test_a_release_that_fails_a_check_is_not_promoted(cockpit: tuple[Cockpit, Daemon]) -> None:
    shop, daemon = cockpit
    shop.shop.write("books.csv", "book_id,title,price,in_stock,category,description", [])
    shop.run_job("load_tables")
    shop.run_job("index_catalog")
    daemon.until_quiet(must_succeed=False)
    newest = shop.store.latest()
    assert newest is not None
    assert newest.content.tables["books"].rows == 0
    assert newest.state is ReleaseState.STAGED
    assert shop.current.number < newest.number
    assert len(shop.prices()) == 12  # leaving, but served
