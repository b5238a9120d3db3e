"""What goes into a release: outputs that belong together, with the newest prices."""

import dataclasses
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from lifehelper_data.domain.errors import NotFound
from lifehelper_data.domain.retention import Retention
from lifehelper_data.pipelines.build import build_all, build_search_assets
from lifehelper_data.pipelines.build_calibration import build_calibration
from lifehelper_data.pipelines.build_catalog import build_catalog
from lifehelper_data.pipelines.build_embeddings import build_embeddings
from lifehelper_data.pipelines.build_keyword import build_keyword
from lifehelper_data.pipelines.build_popularity import build_popularity
from lifehelper_data.pipelines.build_release import promote_staged, stage_release
from lifehelper_data.pipelines.build_tables import build_tables
from lifehelper_data.pipelines.compose import compose_newest, indexed_tables
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.stores.gc import run_gc
from lifehelper_data.stores.promotion import rollback
from lifehelper_data.stores.verify import verify
from tests.integration.build_kit import NOW
from tests.integration.dagster_kit import (
    BOOKS_HEADER,
    Cockpit,
    Started,
    book_line,
    described_shop,
    open_cockpit,
    running,
)

HABITS_MAPPING = """
[files.raw_habits]
path = "habits.csv"
[tables.habit_catalog]
sql = "select * from raw_habits"
"""
HABITS_HEADER = "item_id,kind,title,category"
DERIVED = ("popularity", "keyword_index", "embeddings", "similarity_calibration")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Started:
    """Twelve books and two habits; release 1 is in service."""
    folder = tmp_path_factory.mktemp("built")
    source = described_shop(folder / "shop")
    text = source.mapping.read_text(encoding="utf-8")
    source.mapping.write_text(text + HABITS_MAPPING, encoding="utf-8")
    source.write(
        "habits.csv", HABITS_HEADER, ["walk,protocol,산책,sleep", "alcohol,break,술,sleep"]
    )
    with open_cockpit(folder) as opened:
        build_all(opened.context(), opened.store, source.mapping)
        return Started(folder, None, [], opened.clock)


@pytest.fixture
def shop(built: Started, tmp_path: Path) -> Iterator[Cockpit]:
    with running(built, tmp_path, remembers=False) as (opened, _):
        yield opened


def add_a_book(shop: Cockpit, book_id: int = 13) -> None:
    """Add a described book at the source, and give book 7 a new price."""
    path = shop.shop.folder / "books.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    prices = [f"7,책 7,{100 * book_id},true,소설," if x.startswith("7,") else x for x in lines[1:]]
    shop.shop.write("books.csv", BOOKS_HEADER, [*prices, book_line(book_id, f"고래 {book_id}")])


def take_over(shop: Cockpit, run: str | None = None) -> BuildContext:
    """Load, and take over the new texts; nothing is indexed yet."""
    surroundings = shop.context(run)
    tables = build_tables(surroundings, shop.shop.mapping)
    build_catalog(surroundings, tables.record.tables)
    return surroundings


def rebuild(surroundings: BuildContext, asset: str) -> None:
    """Build one derived asset from the newest catalog."""
    tables = indexed_tables(surroundings)
    if asset == "popularity":
        build_popularity(surroundings, tables)
    elif asset == "keyword_index":
        build_keyword(surroundings, tables)
    elif asset == "embeddings":
        build_embeddings(surroundings, tables)
    else:
        books = build_embeddings(surroundings, tables).record.artifacts["books_vectors"]
        build_calibration(surroundings, books)


def artifacts_of(shop: Cockpit, number: int) -> dict[str, str]:
    return {n: a.identity for n, a in shop.store.load(number).content.artifacts.items()}


@pytest.mark.parametrize("late", ["popularity", "keyword_index", "embeddings"])
def test_while_one_output_is_of_the_old_catalog_the_whole_old_set_is_used(
    shop: Cockpit, late: str
) -> None:
    add_a_book(shop)
    surroundings = take_over(shop)
    for asset in DERIVED[:3]:
        if asset != late:
            rebuild(surroundings, asset)
    staged = stage_release(surroundings, shop.store, compose_newest(surroundings, shop.store))
    content, base = staged.release.content, shop.store.load(1).content
    assert [check.name for check in staged.checks if not check.passed] == []
    assert artifacts_of(shop, 2) == artifacts_of(shop, 1)
    assert content.tables["popularity"] == base.tables["popularity"]
    assert content.tables["books"].rows == 12
    assert content.facts["waiting"] == {"books": 1, "habit_catalog": 0}
    promote_staged(surroundings, shop.store)
    assert shop.prices()[7] == 1300
    rebuild(surroundings, late)
    rebuild(surroundings, "similarity_calibration")
    staged = stage_release(surroundings, shop.store, compose_newest(surroundings, shop.store))
    assert [check.name for check in staged.checks if not check.passed] == []
    assert staged.release.content.tables["books"].rows == 13
    assert staged.release.content.facts["waiting"] == {"books": 0, "habit_catalog": 0}
    assert not set(artifacts_of(shop, 3).values()) & {
        artifacts_of(shop, 1)["books_vectors"], artifacts_of(shop, 1)["books_keyword"]
    }  # fmt: skip


def test_a_scale_of_other_vectors_is_not_mixed_in(shop: Cockpit) -> None:
    add_a_book(shop)
    surroundings = take_over(shop)
    for asset in DERIVED[:3]:
        rebuild(surroundings, asset)
    assert compose_newest(surroundings, shop.store).tables["books"].rows == 12
    rebuild(surroundings, "similarity_calibration")
    assert compose_newest(surroundings, shop.store).tables["books"].rows == 13


def test_after_a_rollback_the_one_in_service_is_the_base(shop: Cockpit) -> None:
    add_a_book(shop)
    build_all(shop.context(), shop.store, shop.shop.mapping)
    with shop.store.writer_lock().hold(0) as lock:
        rollback(shop.store, lock)
    assert shop.store.current_number() == 1
    add_a_book(shop, 14)
    surroundings = take_over(shop)  # and nothing is indexed: there is no set of this catalog
    staged = stage_release(surroundings, shop.store, compose_newest(surroundings, shop.store))
    assert staged.release.number == 3
    assert artifacts_of(shop, 3) == artifacts_of(shop, 1) != artifacts_of(shop, 2)
    assert staged.release.content.facts["waiting"] == {"books": 2, "habit_catalog": 0}
    assert all(check.passed for check in staged.checks)


def test_without_a_set_and_without_a_release_it_says_what_to_do(tmp_path: Path) -> None:
    described_shop(tmp_path / "shop")
    with open_cockpit(tmp_path) as shop:
        shop.layout.create()
        with pytest.raises(NotFound, match="'tables' has not been built here"):
            compose_newest(shop.context(), shop.store)
        surroundings = take_over(shop)
        rebuild(surroundings, "popularity")
        with pytest.raises(NotFound, match="materialise all assets, or run `lifehelper build`"):
            compose_newest(surroundings, shop.store)


def test_a_release_that_was_never_promoted_is_a_base_if_there_is_no_other(tmp_path: Path) -> None:
    described_shop(tmp_path / "shop")
    with open_cockpit(tmp_path) as shop:
        build_all(shop.context(), shop.store, shop.shop.mapping, stage_only=True)
        add_a_book(shop)
        surroundings = take_over(shop)
        content = compose_newest(surroundings, shop.store)
        assert content.artifacts == shop.store.load(1).content.artifacts


def test_counts_add_up_while_books_and_habits_wait_and_leave(shop: Cockpit) -> None:
    add_a_book(shop)
    shop.shop.replace("books.csv", book_line(4, "작은 부엌") + "\n", "")
    shop.shop.replace("books.csv", book_line(5) + "\n", "")
    shop.shop.write(
        "habits.csv",
        HABITS_HEADER,
        ["walk,protocol,산책,sleep", *(f"h{i},diet,물 {i},sleep" for i in range(3))],
    )
    surroundings = shop.context()
    build_tables(surroundings, shop.shop.mapping)
    staged = stage_release(surroundings, shop.store, compose_newest(surroundings, shop.store))
    content = staged.release.content
    assert content.facts["waiting"] == {"books": 1, "habit_catalog": 3}
    assert content.facts["leaving"] == {"books": 2, "habit_catalog": 1}
    kept = {name: content.table_counts[name].kept for name in ("books", "habit_catalog")}
    assert kept == {"books": 11, "habit_catalog": 4}
    assert content.tables["books"].rows == 11 - 1 + 2
    assert content.tables["habit_catalog"].rows == 4 - 3 + 1
    assert {c.name: c.passed for c in staged.checks}["counts_add_up"]
    promote_staged(surroundings, shop.store)
    assert sorted(shop.prices()) == list(range(1, 13))
    build_all(surroundings, shop.store, shop.shop.mapping)
    assert sorted(shop.prices()) == [1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13]


def test_a_catalog_stands_while_only_prices_move(shop: Cockpit) -> None:
    before = shop.record("catalog")
    shop.shop.replace("books.csv", book_line(7), book_line(7).replace("9700", "1"))
    take_over(shop)
    assert shop.record("catalog") == before
    shop.shop.replace("habits.csv", "산책", "걷기")
    take_over(shop)
    assert shop.record("catalog") != before


def stamp_all(shop: Cockpit) -> None:
    """Give every file the time of the clock: files are as old as the test says."""
    now = shop.clock().timestamp()
    for path in shop.workspace.rglob("*"):
        if path.is_file():
            os.utime(path, (now, now))


def collect(shop: Cockpit) -> tuple[str, ...]:
    """Delete all that may be deleted; return the parts that were."""
    least = Retention(keep_last=1, keep_younger_than=timedelta(0), keep_daily_days=0)
    with shop.store.writer_lock().hold(0) as lock:
        return run_gc(shop.store, lock, retention=least).deleted_parts


def all_but_the_release(shop: Cockpit, run: str) -> None:
    surroundings = take_over(shop, run)
    rebuild(surroundings, "popularity")
    build_search_assets(surroundings, indexed_tables(surroundings))


def test_gc_between_two_steps_leaves_what_the_run_made(shop: Cockpit) -> None:
    add_a_book(shop, 13)
    all_but_the_release(shop, "run-a")
    made = shop.record("popularity", "run-a").tables["popularity"].parts[0].path
    shop.shop.replace("books.csv", book_line(13, "고래 13"), book_line(14, "문어"))
    build_all(shop.context(), shop.store, shop.shop.mapping)  # replaces every last output
    shop.shop.replace("books.csv", book_line(14, "문어"), book_line(15, "오징어"))
    build_all(shop.context(), shop.store, shop.shop.mapping)
    stamp_all(shop)
    shop.clock.advance(timedelta(hours=5).total_seconds())
    deleted = collect(shop)
    assert deleted  # release 1 went, with what only it had
    assert made not in deleted
    surroundings = shop.context("run-a")
    staged = stage_release(surroundings, shop.store, compose_newest(surroundings, shop.store))
    assert [check.name for check in staged.checks if not check.passed] == []
    assert verify(shop.store, staged.release.number).ok
    assert promote_staged(surroundings, shop.store).in_service
    assert 13 in shop.prices()
    assert not {14, 15} & set(shop.prices())


def test_what_a_run_made_is_dropped_after_its_grace(shop: Cockpit) -> None:
    add_a_book(shop, 13)
    all_but_the_release(shop, "run-a")
    made = shop.record("popularity", "run-a").tables["popularity"].parts[0].path
    shop.shop.replace("books.csv", book_line(13, "고래 13"), book_line(14, "문어"))
    build_all(shop.context(), shop.store, shop.shop.mapping)
    stamp_all(shop)
    shop.clock.advance(timedelta(days=2).total_seconds())
    assert made not in collect(shop)
    assert (shop.layout.runs / "run-a" / "popularity.json").exists()
    shop.clock.advance(1)
    collect(shop)
    assert not (shop.layout.runs / "run-a" / "popularity.json").exists()
    assert made in collect(shop)
    assert shop.current.number == 2
    assert verify(shop.store, 2).ok


def test_a_record_within_a_run_comes_before_the_last_one(shop: Cockpit) -> None:
    surroundings = take_over(shop, "run-a")  # nothing to do: the last outputs become the run's
    own = shop.record("tables", "run-a")
    shop.put_record(dataclasses.replace(own, input_digest="of another run", built_at=NOW))
    assert shop.record("tables").input_digest == "of another run"
    assert shop.record("tables", "run-a") == own
    assert indexed_tables(surroundings)["user_purchases"] == own.tables["user_purchases"]
    assert shop.record("tables", "run-b").input_digest == "of another run"
