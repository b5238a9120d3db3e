"""Same inputs, same identity; a change changes exactly what holds it."""

import json
import random
from pathlib import Path

import polars as pl
import pytest

from lifehelper_data.domain.errors import CheckFailed, ContractViolation
from lifehelper_data.pipelines import build_popularity
from lifehelper_data.stores.part_check import file_sha256
from lifehelper_data.stores.promotion import promote
from lifehelper_data.stores.verify import verify
from tests.integration.build_kit import (
    ROOT,
    SOURCES,
    TinyShop,
    build,
    identities,
    part_paths,
    store,
)


def test_threads_and_two_builds_give_equal_identities_and_equal_bytes(tmp_path: Path) -> None:
    mapping = SOURCES / "fixture_shop.toml"
    one = build(tmp_path / "a", mapping, run__threads=1)
    eight = build(tmp_path / "b", mapping, run__threads=8)
    again = build(tmp_path / "c", mapping, run__threads=8)
    assert identities(one) == identities(eight) == identities(again)
    assert one.release.release.identity == eight.release.release.identity
    for path in part_paths(one):
        assert file_sha256(tmp_path / "a" / path) == file_sha256(tmp_path / "b" / path), path


def test_bucket_count_changes_parts_but_not_identity(tmp_path: Path) -> None:
    mapping = SOURCES / "fixture_shop.toml"
    many = build(tmp_path / "a", mapping, run__history_buckets=16)
    one = build(tmp_path / "b", mapping, run__history_buckets=1)
    assert identities(many) == identities(one)
    assert len(many.release.release.content.tables["user_purchases"].parts) == 16
    assert len(one.release.release.content.tables["user_purchases"].parts) == 1


@pytest.mark.parametrize("seed", [1, 2])
def test_shuffled_lines_give_equal_identities(tmp_path: Path, seed: int) -> None:
    shop = TinyShop.create(tmp_path / "shop")
    first = build(tmp_path / "a", shop.mapping)
    for name in ("books.csv", "purchases.csv", "reviews.csv"):
        header, *lines = (shop.folder / name).read_text(encoding="utf-8").splitlines()
        random.Random(seed).shuffle(lines)
        shop.write(name, header, lines)
    shuffled = build(tmp_path / "b", shop.mapping)
    assert identities(first) == identities(shuffled)


@pytest.mark.parametrize(
    ("file", "old", "new", "changed"),
    [
        ("books.csv", "7,책 7,9700,소설", "7,책 7,9701,소설", {"books"}),
        ("books.csv", "7,책 7,9700,소설", "7,책 칠,9700,소설", {"books"}),
        (
            "purchases.csv",
            "5,36,2026-01-10 10:00:05",
            "5,36,2026-01-10 10:00:06",
            {"user_purchases"},
        ),
        ("reviews.csv", "5,6,1.0,2026-05-01 09:00:00", "5,6,1.5,2026-05-01 09:00:00",
         {"user_reviews", "popularity"}),
    ],
)  # fmt: skip
def test_one_cell_changes_exactly_the_parts_that_hold_it(
    tmp_path: Path, file: str, old: str, new: str, changed: set[str]
) -> None:
    shop = TinyShop.create(tmp_path / "shop")
    before = build(tmp_path / "w", shop.mapping)
    shop.replace(file, old, new)
    after = build(tmp_path / "w", shop.mapping)
    differing = {n for n, i in identities(after).items() if i != identities(before)[n]}
    assert differing == changed
    gone = part_paths(before) - part_paths(after)
    new_parts = part_paths(after) - part_paths(before)
    assert {Path(path).parts[1] for path in gone} == changed
    assert len(gone) == len(new_parts) == len(changed)  # one part each, of 16 for history


def test_nothing_changed_publishes_nothing_and_writes_no_part(tmp_path: Path) -> None:
    shop = TinyShop.create(tmp_path / "shop")
    first = build(tmp_path / "w", shop.mapping)
    files = {p: (tmp_path / "w" / p).stat().st_ino for p in part_paths(first)}
    second = build(tmp_path / "w", shop.mapping)
    assert [asset.reused for asset in second.assets] == [True, True]
    assert not second.release.published
    assert second.release.in_service
    assert store(tmp_path / "w").numbers() == [1]
    assert files == {p: (tmp_path / "w" / p).stat().st_ino for p in part_paths(first)}


def test_rows_of_the_future_are_loaded_when_their_time_has_come(tmp_path: Path) -> None:
    shop = TinyShop.create(tmp_path / "shop", users=100)
    shop.replace("purchases.csv", "5,36,2026-01-10 10:00:05", "5,36,2027-01-10 10:00:05")
    first = build(tmp_path / "w", shop.mapping)
    counts = first.release.release.content.table_counts["user_purchases"]
    assert (counts.quarantined, counts.bad_columns) == (1, {"purchased_at": 1})
    assert not build(tmp_path / "w", shop.mapping).assets[0].reused  # it may be due by now


def test_dirty_shop_is_counted_as_its_generator_injected(tmp_path: Path) -> None:
    expected = json.loads((ROOT / "fixtures/shop_dirty/expected.json").read_text(encoding="utf-8"))
    content = build(tmp_path / "w", SOURCES / "fixture_shop_dirty.toml").release.release.content
    files = {f.path.removeprefix("../shop_dirty/"): f for f in content.files}
    assert set(files) == set(expected["files"])
    for path, want in expected["files"].items():
        got = files[path]
        assert (got.lines, got.rows, got.rejected, dict(got.reasons)) == (
            want["lines"], want["rows"], want["rejected"], want["reasons"],
        ), path  # fmt: skip
        assert got.balanced
    assert set(content.table_counts) == set(expected["tables"])
    for name, want in expected["tables"].items():
        counts = content.table_counts[name]
        assert {
            key: getattr(counts, key) for key in want if key not in ("bad_columns", "winners")
        } == {key: value for key, value in want.items() if key not in ("bad_columns", "winners")}, (
            name
        )
        assert dict(counts.bad_columns) == want["bad_columns"]
        assert counts.balanced
    with store(tmp_path / "w").open() as reader:
        quarantined = reader.table("quarantine")
        prices: dict[object, object] = dict(
            reader.frame("SELECT book_id, price FROM books").iter_rows()
        )
    assert quarantined.height == sum(
        t["duplicates"] + t["quarantined"] for t in expected["tables"].values()
    )
    winners = expected["tables"]["books"].get("winners", expected.get("winners"))
    for book_id, price in winners.items():
        assert prices[int(book_id)] == price


def test_a_damaged_part_is_found_and_the_next_build_mends_it(tmp_path: Path) -> None:
    shop = TinyShop.create(tmp_path / "shop")
    built = build(tmp_path / "w", shop.mapping)
    part = built.release.release.content.tables["books"].parts[0]
    path = tmp_path / "w" / part.path
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    report = verify(store(tmp_path / "w"), 1)
    assert [Path(problem.path).name for problem in report.problems] == [path.name]
    path.unlink()  # what the remedy says: remove it and build again
    build(tmp_path / "w", shop.mapping)
    assert file_sha256(path) == part.bytes_sha256
    assert verify(store(tmp_path / "w"), 1).ok


def test_a_damaged_part_is_not_taken_over_by_a_build_that_needs_it(tmp_path: Path) -> None:
    shop = TinyShop.create(tmp_path / "shop")
    built = build(tmp_path / "w", shop.mapping)
    part = built.release.release.content.tables["books"].parts[0]
    path = tmp_path / "w" / part.path
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    shop.replace("reviews.csv", "5,6,1.0,2026-05-01 09:00:00", "5,6,1.5,2026-05-01 09:00:00")
    after = build(tmp_path / "w", shop.mapping)
    assert after.release.release.number == 2
    assert verify(store(tmp_path / "w"), 2).ok
    (tmp_path / "w" / "builds" / "tables.json").unlink()
    path.write_bytes(content)
    shop.replace("reviews.csv", "5,6,1.5,2026-05-01 09:00:00", "5,6,2.0,2026-05-01 09:00:00")
    build(tmp_path / "w", shop.mapping)
    assert verify(store(tmp_path / "w"), 3).ok


def test_stage_promotes_nothing_and_a_later_build_promotes_it(tmp_path: Path) -> None:
    shop = TinyShop.create(tmp_path / "shop")
    build(tmp_path / "w", shop.mapping)
    staged = build(tmp_path / "w", shop.mapping, stage_only=True, popularity__method="share_of_max")
    assert (staged.release.release.number, staged.release.in_service) == (2, False)
    assert store(tmp_path / "w").current_number() == 1
    built = build(tmp_path / "w", shop.mapping, popularity__method="share_of_max")
    assert not built.release.published
    assert built.release.promoted
    assert store(tmp_path / "w").current_number() == 2


def test_an_unchanged_build_does_not_undo_a_rollback(tmp_path: Path) -> None:
    shop = TinyShop.create(tmp_path / "shop")
    build(tmp_path / "w", shop.mapping)
    shop.replace("books.csv", "7,책 7,9700,소설", "7,책 7,1,소설")
    build(tmp_path / "w", shop.mapping)
    releases = store(tmp_path / "w")
    with releases.writer_lock().hold() as lock:
        promote(releases, 1, lock)
    again = build(tmp_path / "w", shop.mapping)
    assert not again.release.promoted
    assert "release promote 2" in again.release.notes[0]
    assert releases.current_number() == 1
    shop.replace("books.csv", "7,책 7,1,소설", "7,책 7,9800,소설")
    assert build(tmp_path / "w", shop.mapping).release.release.number == 3
    assert releases.current_number() == 3


def test_a_failed_blocking_check_leaves_the_release_staged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = TinyShop.create(tmp_path / "shop")
    build(tmp_path / "w", shop.mapping)
    honest = build_popularity.popularity_rows

    def broken(*given: object) -> pl.DataFrame:
        return honest(*given).with_columns(value=pl.lit(1.5))  # type: ignore[arg-type]  # forwards

    monkeypatch.setattr(build_popularity, "popularity_rows", broken)
    shop.replace("reviews.csv", "5,6,1.0,2026-05-01 09:00:00", "5,6,1.5,2026-05-01 09:00:00")
    with pytest.raises(CheckFailed, match="popularity: 50 outside 0-1"):
        build(tmp_path / "w", shop.mapping)
    releases = store(tmp_path / "w")
    assert releases.numbers() == [1, 2]
    assert releases.current_number() == 1


def test_a_column_that_select_star_would_lose_silently_is_named(tmp_path: Path) -> None:
    shop = TinyShop.create(tmp_path / "shop")
    build(tmp_path / "w", shop.mapping)
    text = (shop.folder / "books.csv").read_text(encoding="utf-8")
    (shop.folder / "books.csv").write_text(
        text.replace("price,category", "sale_price,category", 1), encoding="utf-8"
    )
    with pytest.raises(ContractViolation, match="books lost price"):
        build(tmp_path / "w", shop.mapping)
    assert store(tmp_path / "w").numbers() == [1]
    mapping = shop.mapping.read_text(encoding="utf-8")
    shop.mapping.write_text(
        mapping.replace("select * from raw_books", "select * exclude (sale_price) from raw_books"),
        encoding="utf-8",
    )
    assert build(tmp_path / "w", shop.mapping).release.release.number == 2  # the owner's word


def test_an_empty_catalog_is_not_put_in_service(tmp_path: Path) -> None:
    shop = TinyShop.create(tmp_path / "shop")
    build(tmp_path / "w", shop.mapping)
    shop.write("books.csv", "book_id,title,price,category", [])
    with pytest.raises(CheckFailed, match="books_not_empty: 0 books"):
        build(tmp_path / "w", shop.mapping)
    assert store(tmp_path / "w").current_number() == 1
