"""Releases that eval runs name are kept; what a killed run left half-written goes."""

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.domain.retention import Retention
from lifehelper_data.stores.eval_records import ReleasePin, RunRecord, RunStatus
from lifehelper_data.stores.eval_runs import EvalRuns
from lifehelper_data.stores.gc import plan_gc, run_gc
from tests.integration.eval_kit import Adder, numbered_ids, run, sums
from tests.integration.release_kit import Shop

LAST_ONE = Retention(keep_last=1, keep_younger_than=timedelta(0), keep_daily_days=0)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path / "w")
    for marker in "abcd":
        shop.publish(shop.marked(marker))
        shop.clock.advance(86_400)
    return shop


def runs_of(shop: Shop) -> EvalRuns:
    return EvalRuns(shop.layout, shop.clock, numbered_ids())


def naming(shop: Shop, number: int, status: RunStatus) -> RunRecord:
    """Store a run that says it reads a release."""
    runs = runs_of(shop)
    record = run(runs, sums(Adder(), count=3)).record
    pin = ReleasePin(number=number, identity="i", bytes="b")
    named = replace(record, pins=replace(record.pins, release=pin), status=status)
    runs.save(named)
    shop.clock.advance(1)
    return named


@pytest.mark.parametrize("status", list(RunStatus))
def test_a_release_that_a_run_names_outlives_retention(shop: Shop, status: RunStatus) -> None:
    record = naming(shop, 2, status)
    with shop.lock() as lock:
        report = run_gc(shop.store, lock, retention=LAST_ONE)
    assert report.kept == {2: f"eval run {record.run_id}", 4: "last"}
    assert report.deleted_releases == (1, 3)
    assert shop.marker(2) == "b"


def test_a_release_goes_once_its_run_was_deleted(shop: Shop) -> None:
    record = naming(shop, 2, RunStatus.COMPLETE)
    (runs_of(shop).folder(record.run_id) / "run.json").unlink()
    assert plan_gc(shop.store, retention=LAST_ONE).deleted_releases == (1, 2, 3)


def test_the_newest_of_several_runs_is_named_as_the_reason(shop: Shop) -> None:
    naming(shop, 2, RunStatus.COMPLETE)
    last = naming(shop, 2, RunStatus.COMPLETE)
    assert plan_gc(shop.store, retention=LAST_ONE).kept[2] == f"eval run {last.run_id}"


def test_nothing_is_deleted_while_the_head_of_a_run_cannot_be_read(shop: Shop) -> None:
    record = naming(shop, 2, RunStatus.COMPLETE)
    (runs_of(shop).folder(record.run_id) / "run.json").write_text("{", encoding="utf-8")
    with pytest.raises(Unavailable, match="head of eval run"), shop.lock() as lock:
        run_gc(shop.store, lock, retention=LAST_ONE)
    assert shop.store.numbers() == [1, 2, 3, 4]


def test_half_written_files_of_a_killed_run_go_and_whole_ones_stay(shop: Shop) -> None:
    record = naming(shop, 2, RunStatus.RUNNING)
    folder = runs_of(shop).folder(record.run_id)
    chunk = folder / "outputs" / ".000004.parquet.x.tmp"
    scoring = folder / "scorings" / ".0002.x.tmp"
    scoring.mkdir()
    left = [chunk, scoring / "scores.parquet"]
    for path in left:
        path.write_bytes(b"half")
    whole = {path for path in folder.rglob("*") if path.is_file()} - set(left)
    for path in [*left, *whole]:
        os.utime(path, (shop.clock().timestamp(), shop.clock().timestamp()))
    shop.clock.advance(7200)
    with shop.lock() as lock:
        run_gc(shop.store, lock, retention=LAST_ONE)
    assert {path for path in folder.rglob("*") if path.is_file()} == whole
