"""Ages of what is in service: each budget is broken by waiting and healed by work."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from lifehelper_data.domain.freshness import Freshness, Served
from lifehelper_data.pipelines.build import build_all
from lifehelper_data.pipelines.build_release import promote_staged, stage_release
from lifehelper_data.pipelines.build_tables import build_tables
from lifehelper_data.pipelines.compose import compose_newest
from lifehelper_data.pipelines.freshness import (
    budgets,
    current_freshness,
    freshness_when_published,
)
from lifehelper_data.settings import load_settings
from tests.integration.build_kit import NOW, TinyShop
from tests.integration.dagster_kit import Cockpit, open_cockpit
from tests.integration.search_kit import found_ids

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Clocked:
    """A shop whose rows bear times, built by hand-driven time."""

    cockpit: Cockpit

    def sell(self, *times: datetime) -> None:
        lines = [f"{user},1,{at:%Y-%m-%dT%H:%M:%SZ}" for user, at in enumerate(times, 1)]
        self.cockpit.shop.write("purchases.csv", "user_id,book_id,purchased_at", lines)

    def price(self, changed: datetime | None, *, books: Sequence[int] = (1, 2, 3)) -> None:
        at = f"{changed:%Y-%m-%dT%H:%M:%SZ}" if changed else ""
        header = "book_id,title,price,listed_at,updated_at"
        self.cockpit.shop.write("books.csv", header, [f"{i},책 {i},9000,{at},{at}" for i in books])

    def build(self) -> None:
        """Everything, as `lifehelper build` does."""
        build_all(self.cockpit.context(), self.cockpit.store, self.cockpit.shop.mapping)

    def refresh(self) -> None:
        """Prices, stock and history, as the schedule of every five minutes does."""
        context, store = self.cockpit.context(), self.cockpit.store
        build_tables(context, self.cockpit.shop.mapping)
        stage_release(context, store, compose_newest(context, store))
        promote_staged(context, store)

    def ages(self) -> dict[Served, Freshness]:
        found = current_freshness(self.cockpit.context(), self.cockpit.store)
        return {one.served: one for one in found}

    def broken(self) -> set[Served]:
        return {served for served, one in self.ages().items() if not one.fresh}

    def after(self, passed: timedelta) -> datetime:
        """Let time pass; return the time."""
        self.cockpit.clock.advance(passed.total_seconds())
        return self.cockpit.clock()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Clocked]:
    """A shop where everything happened a minute ago, in service."""
    source = TinyShop.create(tmp_path / "shop", books=3, users=1)
    source.write("reviews.csv", "user_id,book_id,rating,created_at", [])
    with open_cockpit(tmp_path, settings=["[run]", "search_assets = false"]) as cockpit:
        opened = Clocked(cockpit)
        opened.price(NOW - MINUTE)
        opened.sell(NOW - MINUTE)
        opened.build()
        yield opened


def test_a_fresh_build_is_within_every_budget(shop: Clocked) -> None:
    assert {served: one.age for served, one in shop.ages().items()} == {
        Served.PRICE_STOCK: MINUTE,
        Served.NEW_BOOKS: timedelta(0),  # since the load just now
        Served.POPULARITY: MINUTE,
        Served.HISTORY: MINUTE,
    }
    assert shop.broken() == set()


def test_prices_grow_old_and_a_load_of_a_changed_one_heals(shop: Clocked) -> None:
    now = shop.after(4 * MINUTE)
    assert shop.broken() == set()  # 5 of 5 minutes
    now = shop.after(timedelta(seconds=1))
    assert shop.broken() == {Served.PRICE_STOCK, Served.HISTORY}
    shop.price(now)
    shop.refresh()
    assert shop.broken() == {Served.HISTORY}
    assert shop.ages()[Served.PRICE_STOCK].age == timedelta(0)


def test_prices_that_bear_no_time_are_healed_by_a_load_that_finds_nothing_new(
    shop: Clocked,
) -> None:
    shop.price(None)
    shop.sell(NOW + timedelta(minutes=5))
    shop.refresh()
    shop.after(6 * MINUTE)
    assert Served.PRICE_STOCK in shop.broken()
    assert "no row bears a time" in shop.ages()[Served.PRICE_STOCK].detail
    releases = shop.cockpit.store.numbers()
    shop.refresh()
    assert shop.broken() == set()
    assert shop.cockpit.store.numbers() == releases


def test_history_grows_old_and_a_sale_heals(shop: Clocked) -> None:
    now = shop.after(5 * MINUTE)
    assert Served.HISTORY in shop.broken()
    shop.sell(NOW - MINUTE, now - 2 * MINUTE)
    shop.refresh()
    assert shop.ages()[Served.HISTORY].age == 2 * MINUTE
    assert shop.broken() == {Served.PRICE_STOCK}


def test_a_new_book_may_wait_an_hour_for_its_index(shop: Clocked) -> None:
    listed = shop.after(timedelta(minutes=10))
    shop.price(listed, books=(1, 2, 3, 4))
    shop.refresh()
    assert shop.ages()[Served.NEW_BOOKS].since == "a new book waits for its index since then"
    shop.after(60 * MINUTE)
    shop.refresh()  # loads do not help
    assert Served.NEW_BOOKS not in shop.broken()
    shop.after(MINUTE)
    assert Served.NEW_BOOKS in shop.broken()
    assert shop.ages()[Served.NEW_BOOKS].age == 61 * MINUTE
    shop.build()
    assert Served.NEW_BOOKS not in shop.broken()
    assert shop.ages()[Served.NEW_BOOKS].age == timedelta(0)
    assert sorted(shop.cockpit.prices()) == [1, 2, 3, 4]


def test_a_new_book_without_a_time_waits_since_the_release_that_told_of_it(shop: Clocked) -> None:
    told = shop.after(10 * MINUTE)
    shop.price(None, books=(1, 2, 3, 4))
    shop.refresh()
    now = shop.after(30 * MINUTE)
    shop.refresh()  # another load, nothing new
    assert shop.ages()[Served.NEW_BOOKS].age == 30 * MINUTE
    for sale in (now, shop.after(30 * MINUTE)):  # later releases do not start the wait anew
        shop.sell(NOW - MINUTE, sale)
        shop.refresh()
    assert shop.cockpit.current.number == 4
    assert shop.cockpit.store.load(2).created_at == told
    assert shop.ages()[Served.NEW_BOOKS].age == 60 * MINUTE
    assert Served.NEW_BOOKS not in shop.broken()
    shop.after(timedelta(seconds=1))
    assert Served.NEW_BOOKS in shop.broken()
    shop.build()
    assert shop.ages()[Served.NEW_BOOKS].age == timedelta(0)


def test_popularity_grows_old_in_a_day_and_counting_again_heals(shop: Clocked) -> None:
    now = shop.after(timedelta(hours=24))
    shop.sell(NOW - MINUTE, now)
    shop.refresh()
    assert Served.POPULARITY in shop.broken()  # the sale is served, but not counted yet
    assert Served.HISTORY not in shop.broken()
    shop.build()
    assert Served.POPULARITY not in shop.broken()
    assert shop.ages()[Served.POPULARITY].age == timedelta(0)


def test_a_breach_blocks_no_reader(shop: Clocked) -> None:
    shop.after(timedelta(days=3))
    assert shop.broken() == {
        Served.PRICE_STOCK, Served.HISTORY, Served.POPULARITY, Served.NEW_BOOKS
    }  # fmt: skip
    config = shop.cockpit.layout.config_file
    config.write_text("", encoding="utf-8")  # with search
    shop.build()
    assert Served.HISTORY in shop.broken()
    with shop.cockpit.open() as opened:
        assert opened.sql("SELECT count(*) AS n FROM books").to_dict()["rows"] == [[3]]
        assert found_ids(opened, "책 2")[0] == 2


def test_budgets_are_configured(shop: Clocked) -> None:
    settings = load_settings(None, {}, {"freshness.price_stock_s": 60, "freshness.new_books_s": 7})
    assert budgets(settings) == {
        Served.PRICE_STOCK: timedelta(seconds=60),
        Served.NEW_BOOKS: timedelta(seconds=7),
        Served.POPULARITY: timedelta(hours=24),
        Served.HISTORY: timedelta(minutes=5),
    }
    shop.after(timedelta(seconds=1))
    config = shop.cockpit.layout.config_file
    config.write_text("[freshness]\nprice_stock_s = 60\n", encoding="utf-8")
    assert shop.broken() == {Served.PRICE_STOCK}  # 61 s old


def test_age_when_published_stands_still(shop: Clocked) -> None:
    def published() -> list[timedelta | None]:
        with shop.cockpit.store.open() as reader:
            found = freshness_when_published(reader, shop.cockpit.context().settings)
            return [one.age for one in found]

    before = published()
    assert before == [MINUTE, timedelta(0), MINUTE, MINUTE]
    shop.after(timedelta(days=30))
    assert published() == before


def test_nothing_in_service_has_no_age_and_breaks_no_budget(tmp_path: Path) -> None:
    TinyShop.create(tmp_path / "shop")
    with open_cockpit(tmp_path) as cockpit:
        cockpit.layout.create()
        found = current_freshness(cockpit.context(), cockpit.store)
        assert [one.served for one in found] == list(Served)
        assert {one.detail for one in found} == {"n/a: nothing is in service yet"}
        assert set(checked(cockpit).values()) == {(True, dg.AssetCheckSeverity.WARN)}


def checked(cockpit: Cockpit) -> dict[str, tuple[bool, dg.AssetCheckSeverity]]:
    run = cockpit.run_job("check_freshness")
    assert run.success  # a breach warns, it is not a failed run
    return {e.check_name: (e.passed, e.severity) for e in run.get_asset_check_evaluations()}


def test_the_job_shows_each_breach_as_a_warning_until_it_is_healed(shop: Clocked) -> None:
    names = {f"fresh_{served}" for served in Served}
    warn = dg.AssetCheckSeverity.WARN
    assert checked(shop.cockpit) == dict.fromkeys(names, (True, warn))
    now = shop.after(timedelta(days=2))
    assert checked(shop.cockpit) == dict.fromkeys(names, (False, warn))
    shop.price(now)
    shop.sell(now)
    shop.build()
    run = shop.cockpit.run_job("check_freshness")
    evaluations = run.get_asset_check_evaluations()
    assert {e.check_name for e in evaluations if e.passed} == names
    price = next(e for e in evaluations if e.check_name == "fresh_price_stock")
    assert price.description == (
        "0 s old, within 5 min: last change 2026-12-02 12:00 UTC, last load 2026-12-02 12:00 UTC"
    )
    assert (price.metadata["age_s"].value, price.metadata["budget_s"].value) == (0.0, 300.0)


def test_a_promotion_measures_at_once(shop: Clocked) -> None:
    now = shop.after(timedelta(days=2))
    shop.price(now)
    shop.cockpit.run_job("load_tables")
    run = shop.cockpit.run_assets("staged_release", "promoted_release")
    passed = {e.check_name for e in run.get_asset_check_evaluations() if e.passed}
    assert {"fresh_price_stock", "fresh_new_books"} <= passed
    assert not {"fresh_history", "fresh_popularity"} & passed
