"""The benchmarks' common ground: bars, rows, quality first, turns."""

from dataclasses import replace
from pathlib import Path

import pytest

import benchmarks
from benchmarks._shop import Shop
from benchmarks.kit import (
    Bar,
    BenchResult,
    Quality,
    QualityFailed,
    Scale,
    interleaved,
    load_average,
    machine,
    measured,
    median_percentile,
    require,
    require_peer,
)
from lifehelper_data.cli.bench import CHECKOUT, load_benchmarks
from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.domain.ports import NoProgress

HALF = Bar(of="ratio", at_most=0.5)


@pytest.mark.parametrize(
    ("bar", "ours", "ratio", "met"),
    [
        (HALF, 9.0, 0.5, True),
        (HALF, 9.0, 0.51, False),
        (HALF, 9.0, None, None),
        (Bar(of="ratio", at_least=1.5), 9.0, 1.5, True),
        (Bar(of="ratio", at_least=1.5), 9.0, 1.49, False),
        (Bar(of="ours", at_most=3), 3.1, 0.1, False),
        (Bar(of="ours", at_most=3), 2.9, None, True),
        (Bar(of="ours", at_least=1, at_most=2), 0.9, None, False),
    ],
)
def test_bar_is_met_up_to_its_limit(
    bar: Bar, ours: float, ratio: float | None, met: bool | None
) -> None:
    assert bar.met(ours, ratio) is met


def test_bar_reads_as_it_is_judged() -> None:
    assert str(HALF) == "ratio <= 0.5"
    assert str(Bar(of="ours", at_least=1, at_most=2)) == "ours >= 1 and <= 2"


def test_row_holds_ratio_and_verdict_at_full_size() -> None:
    row = measured("x", "ms", 3.0, scale=Scale.FULL, peer_name="p", peer=4.0, bar=HALF)
    assert (row.ratio, row.bar, row.holds) == (0.75, "ratio <= 0.5", False)


def test_quick_row_is_judged_by_no_bar() -> None:
    row = measured("x", "ms", 3.0, scale=Scale.QUICK, peer_name="p", peer=4.0, bar=HALF)
    assert (row.ratio, row.holds) == (0.75, None)


def test_result_holds_unless_a_row_misses_its_bar() -> None:
    without = measured("x", "ms", 3.0, scale=Scale.FULL)
    good = measured("x", "ms", 1.0, scale=Scale.FULL, peer=4.0, bar=HALF)
    result = BenchResult(rows=(without, good), quality=(), machine={})
    assert result.holds
    assert not replace(result, rows=(good, replace(good, holds=False))).holds


def test_quality_that_fails_stops_with_what_was_found() -> None:
    assert require("cosine", 0.996, ">= 0.995", holds=True) == Quality(
        what="cosine", value=0.996, required=">= 0.995"
    )
    with pytest.raises(QualityFailed, match=r"cosine: found 0\.9, required >= 0\.995") as failed:
        require("cosine", 0.9, ">= 0.995", holds=False)
    assert failed.value.exit_code == 1


def test_sides_take_turns_after_one_warm_up_each() -> None:
    calls: list[str] = []

    def side(name: str) -> int:
        calls.append(name)
        return len(calls)

    found = interleaved({"a": lambda: side("a"), "b": lambda: side("b")}, 3, NoProgress())
    assert "".join(calls) == "ab" + "ab" + "ba" + "ab"
    assert found == {"a": [3, 6, 7], "b": [4, 5, 8]}


def test_percentile_is_taken_within_a_round_and_the_median_over_rounds() -> None:
    assert median_percentile([[1, 2, 3], [10, 20, 30], [4, 5, 6]], 50) == 5
    assert median_percentile([[0, 10], [0, 20], [0, 100]], 95) == pytest.approx(0.95 * 20)


def test_missing_peer_is_named_with_the_remedy() -> None:
    with pytest.raises(Unavailable, match="'speedy-thing', which is not installed; run `make"):
        require_peer("no_such_module", "speedy-thing", "keyword")
    require_peer("json", "json", "keyword")


def test_machine_says_how_busy_it_was() -> None:
    described = machine([1.5, 0.5, 0.25])
    assert described["load_average_before"] == [1.5, 0.5, 0.25]
    assert len(load_average()) in {0, 3}
    assert isinstance(described["packages"], dict)


def test_machine_is_busy_if_more_than_its_cores_were_wanted() -> None:
    assert machine([10_000.0, 0.0, 0.0])["busy"] is True
    assert machine([0.0, 10_000.0, 0.0])["busy"] is False
    assert machine([])["busy"] is False


def test_every_file_of_the_folder_is_listed_under_its_name() -> None:
    folder = Path(benchmarks.__file__).parent
    files = {path.stem for path in folder.glob("[a-z]*.py")} - {"kit"}
    assert set(benchmarks.NAMES) == files
    assert [b.name for b in load_benchmarks(CHECKOUT).values()] == list(benchmarks.NAMES)


def test_a_folder_without_benchmarks_is_no_checkout(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="in a checkout of the repository"):
        load_benchmarks(tmp_path)


def test_made_up_shop_is_the_same_for_a_seed_and_changes_only_the_chosen_titles() -> None:
    shop = Shop.of_size(50, 10, seed=1)
    assert shop == Shop.of_size(50, 10, seed=1) != Shop.of_size(50, 10, seed=2)
    assert (len(shop.titles), len(shop.descriptions)) == (50, 10)
    later, chosen = shop.changed(5, seed=3)
    assert len(chosen) == 5
    assert {i for i in shop.titles if shop.titles[i] != later.titles[i]} == chosen
    assert later.descriptions == shop.descriptions


def test_written_shop_has_a_line_per_book_and_no_text_where_there_is_none(tmp_path: Path) -> None:
    mapping = Shop.of_size(5, 2, seed=1).write(tmp_path / "shop")
    lines = (mapping.parent / "books.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 5
    assert sum(line.endswith(",") for line in lines[1:]) == 3
