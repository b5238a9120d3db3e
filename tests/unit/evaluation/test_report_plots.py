"""What the plots of the page count."""

import polars as pl
import pytest

from lifehelper_data.evaluation.report.content import in_turn
from lifehelper_data.evaluation.report.plots import (
    POINTS,
    history_bins,
    history_figure,
    price_bins,
    thinned_ranks,
)


def prices(won: list[int], suspect: list[bool]) -> pl.DataFrame:
    return pl.DataFrame({"price_won": won, "price_suspect": suspect})


def popularity(books: int) -> pl.DataFrame:
    return pl.DataFrame({"rank": range(1, books + 1), "sales": range(books, 0, -1)})


def test_every_price_is_in_one_bin_that_holds_it() -> None:
    binned = price_bins(prices([0, 900, 15000, 15001, 1_000_000], [True, True, False, False, True]))
    assert binned["books"].to_list() == [1, 1, 2, 1]
    assert binned["suspect"].to_list() == ["yes", "yes", "no", "yes"]
    assert binned["low"].to_list()[0] == 0
    assert binned["high"].to_list()[-1] == pytest.approx(1_000_000, abs=0.1)
    assert all(low <= 15000 < high for low, high in binned.select("low", "high").rows()[2:3])


def test_one_price_alone_has_a_bin() -> None:
    assert price_bins(prices([12000], [False]))["books"].to_list() == [1]
    assert price_bins(prices([0], [True]))["low"].to_list() == [0]


def test_few_ranks_stay_as_they_are() -> None:
    assert thinned_ranks(popularity(POINTS)).equals(popularity(POINTS))


def test_many_ranks_are_thinned_and_keep_both_ends() -> None:
    thinned = thinned_ranks(popularity(1_000_000))
    assert 100 < thinned.height <= POINTS
    ranks = thinned["rank"].to_list()
    assert (ranks[0], ranks[-1]) == (1, 1_000_000)
    assert ranks == sorted(ranks)
    assert thinned["sales"].to_list()[-1] == 1


def test_users_fall_into_bins_that_double() -> None:
    history = pl.DataFrame(
        {"table": "user_reviews", "user_id": range(8), "rows": [1, 1, 2, 3, 4, 5, 8, 9]}
    )
    assert history_bins(history).rows() == [
        ("user_reviews", 1, "1", 2),
        ("user_reviews", 2, "2", 1),
        ("user_reviews", 3, "3–4", 2),
        ("user_reviews", 5, "5–8", 2),
        ("user_reviews", 9, "9–16", 1),
    ]


def test_large_powers_of_two_close_their_bin() -> None:
    rows = [2**power for power in range(1, 31)]
    history = pl.DataFrame({"table": "t", "user_id": range(30), "rows": rows})
    assert history_bins(history)["users"].to_list() == [1] * 30


def test_a_figure_holds_its_picture_and_describes_it() -> None:
    history = pl.DataFrame({"table": ["user_reviews"], "user_id": [1], "rows": [3]})
    drawn = history_figure(history).source
    assert (
        '<img alt="Bars: users by their number of rows in each history table." src="data:' in drawn
    )
    assert drawn == history_figure(history).source


def test_groups_take_turns() -> None:
    frame = pl.DataFrame({"reason": ["a", "a", "a", "b", "c", "a", "b"], "n": range(7)})
    assert in_turn(frame, ["reason"], 4)["n"].to_list() == [0, 1, 3, 4]
    assert in_turn(frame, ["reason"], 99).sort("n").equals(frame)
    assert in_turn(frame.clear(), ["reason"], 4).is_empty()
