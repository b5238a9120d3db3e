"""Every check of a release finds its fault; one that blocks keeps the old release in service."""

import dataclasses
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import numpy as np
import polars as pl
import pytest

from lifehelper_data.domain.build import BuildRecord
from lifehelper_data.domain.contract import ALL_TABLES
from lifehelper_data.domain.release import Artifact, TableParts
from lifehelper_data.pipelines.build_calibration import VECTORS_FACT
from lifehelper_data.pipelines.checks import BLOCKING, CHECKS
from lifehelper_data.stores.part_check import file_sha256
from lifehelper_data.stores.vector_artifact import vectors_artifact, vectors_tag
from lifehelper_data.stores.vector_files import VectorFiles
from lifehelper_data.stores.vectors import VectorTable
from tests.integration.dagster_kit import (
    BOOKS_HEADER,
    Cockpit,
    Started,
    repriced,
    running,
    started_cockpit,
)

RELEASE = ("staged_release", "promoted_release")


@pytest.fixture(scope="module")
def due(tmp_path_factory: pytest.TempPathFactory) -> Started:
    """Release 1 is in service, and release 2, with a new price, is due."""
    started = started_cockpit(tmp_path_factory)
    return repriced(started, tmp_path_factory.mktemp("due"))


@pytest.fixture
def cockpit(due: Started, tmp_path: Path) -> Iterator[Cockpit]:
    with running(due, tmp_path, remembers=False) as (opened, _):
        yield opened


def replaced(cockpit: Cockpit, asset: str, table: str, rows: pl.DataFrame) -> BuildRecord:
    """Return the asset's record with other rows in one table, written as they are."""
    record, context = cockpit.record(asset), cockpit.context()
    with context.scratch() as scratch, context.part_writer(scratch, asset) as writer:
        writer.append(ALL_TABLES[table], rows)
        parts = writer.write(ALL_TABLES[table])
    return dataclasses.replace(record, tables={**record.tables, table: parts})


def with_artifact(record: BuildRecord, artifact: Artifact, **facts: object) -> BuildRecord:
    """Return the record with another artifact under that name."""
    return dataclasses.replace(
        record,
        artifacts={**record.artifacts, artifact.name: artifact},
        facts={**record.facts, **facts},
    )


def miss_a_vector_version(cockpit: Cockpit) -> None:
    name, space, tag = vectors_tag(cockpit.record("embeddings").artifacts["books_vectors"])
    VectorFiles.of(cockpit.layout, name, space).version_facts(tag).unlink()


def empty_the_shop(cockpit: Cockpit) -> None:
    cockpit.shop.write("books.csv", BOOKS_HEADER, [])
    cockpit.shop.write("purchases.csv", "user_id,book_id,purchased_at", [])
    cockpit.shop.write("reviews.csv", "user_id,book_id,rating,created_at", [])
    cockpit.run_job("load_tables")
    cockpit.run_assets(
        "catalog_texts", "popularity", "keyword_index", "habit_keyword_index",
        "catalog_embeddings", "habit_embeddings", "similarity_calibration",
    )  # fmt: skip


def forget_a_class(cockpit: Cockpit) -> None:
    rows = pl.DataFrame({"category": ["소설"], "class": [None], "strength": ["core"]})
    cockpit.put_record(replaced(cockpit, "tables", "category_map", rows))


def lose_a_column(cockpit: Cockpit) -> None:
    record = cockpit.record("tables")
    table = record.tables["category_map"]
    path = cockpit.layout.parts / "category_map" / f"{'ab' * 32}.parquet"
    rows = pl.DataFrame({"category": ["소설"], "strength": ["core"]})
    rows.write_parquet(path)
    part = dataclasses.replace(
        table.parts[0],
        path=path.relative_to(cockpit.layout.root).as_posix(),
        identity="ab" * 32,
        bytes_sha256=file_sha256(path),
        size_bytes=path.stat().st_size,
    )
    other = TableParts(table="category_map", parts=(part,), identity="ab" * 32, rows=1)
    cockpit.put_record(dataclasses.replace(record, tables={**record.tables, "category_map": other}))


def repeat_a_key(cockpit: Cockpit) -> None:
    rows = pl.DataFrame(
        {"category": ["소설"] * 2, "class": ["한국소설"] * 2, "strength": ["core"] * 2}
    )
    cockpit.put_record(replaced(cockpit, "tables", "category_map", rows))


def lose_a_review(cockpit: Cockpit) -> None:
    record = cockpit.record("tables")
    counts = record.table_counts["user_reviews"]
    more = dataclasses.replace(counts, returned=counts.returned + 1, kept=counts.kept + 1)
    cockpit.put_record(
        dataclasses.replace(record, table_counts={**record.table_counts, "user_reviews": more})
    )


def overrate_a_book(cockpit: Cockpit) -> None:
    with cockpit.open() as opened:
        rows = opened.table("popularity")
    best = pl.col("sales") == pl.col("sales").max()
    over = pl.when(best).then(1.5).otherwise(pl.col("value"))
    cockpit.put_record(replaced(cockpit, "popularity", "popularity", rows.with_columns(value=over)))


def drop_a_vector(cockpit: Cockpit) -> None:
    record, scale = cockpit.record("embeddings"), cockpit.record("similarity_calibration")
    name, space, _ = vectors_tag(record.artifacts["books_vectors"])
    table = VectorTable.open_or_create(cockpit.layout, name, space, 384)
    table.delete(np.array([3], dtype=np.int64))
    fewer = vectors_artifact(cockpit.layout, "books_vectors", table.publish())
    cockpit.put_record(with_artifact(record, fewer))
    cockpit.put_record(
        dataclasses.replace(scale, facts={**scale.facts, VECTORS_FACT: fewer.identity})
    )


def take_the_index_of_habits(cockpit: Cockpit) -> None:
    record = cockpit.record("keyword_index")
    habits = record.artifacts["habits_keyword"]
    cockpit.put_record(with_artifact(record, dataclasses.replace(habits, name="books_keyword")))


def lower_the_recall(cockpit: Cockpit) -> None:
    record = cockpit.record("embeddings")
    artifact = record.artifacts["books_vectors"]
    poor = {**artifact.facts, "indexed": True, "index_recall": 0.9}
    cockpit.put_record(with_artifact(record, dataclasses.replace(artifact, facts=poor)))


def sell_unknown_books(cockpit: Cockpit) -> None:
    lines = [f"{user},{900 + user},2026-03-10 10:00:00" for user in range(1, 31)]
    cockpit.shop.write("purchases.csv", "user_id,book_id,purchased_at", lines)
    cockpit.run_job("load_tables")


@dataclass(frozen=True)
class Fault:
    """What is planted, and what the check says about it."""

    check: str
    plant: Callable[[Cockpit], None]
    says: str


FAULTS = [
    Fault("release_complete", miss_a_vector_version, "is missing"),
    Fault("books_not_empty", empty_the_shop, "0 books"),
    Fault("contract_columns", forget_a_class, "category_map.class (1 nulls)"),
    Fault("key_unique", repeat_a_key, "category_map: 1 keys repeated"),
    Fault("counts_add_up", lose_a_review, "user_reviews: kept 11, waiting 0, leaving 0, has 10"),
    Fault("popularity", overrate_a_book, "outside 0-1"),
    Fault("vectors", drop_a_vector, "1 described books without a vector"),
    Fault("keyword_index", take_the_index_of_habits, "12 books are not indexed"),
    Fault("index_recall", lower_the_recall, "books_vectors: 0.9000 below 0.98"),
    Fault("orphan_share", sell_unknown_books, "30 of 40 history rows (75.0%)"),
]  # fmt: skip


def test_every_check_has_a_fault() -> None:
    assert {fault.check for fault in FAULTS} == set(CHECKS)
    assert set(CHECKS) - {"orphan_share"} == BLOCKING


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.plant.__name__)
def test_a_fault_is_found_by_its_check(cockpit: Cockpit, fault: Fault) -> None:
    fault.plant(cockpit)
    run = cockpit.run_assets(*RELEASE, must_succeed=False)
    evaluations = {e.check_name: e for e in run.get_asset_check_evaluations()
                   if e.asset_key == dg.AssetKey("staged_release")}  # fmt: skip
    failed = [name for name, evaluation in evaluations.items() if not evaluation.passed]
    assert failed == [fault.check]
    found = evaluations[fault.check]
    assert found.description is not None
    assert fault.says in found.description
    blocks = fault.check in BLOCKING
    assert found.blocking is blocks
    assert found.severity == (dg.AssetCheckSeverity.ERROR if blocks else dg.AssetCheckSeverity.WARN)
    assert run.success is not blocks
    promoted = run.asset_materializations_for_node("promoted_release")
    assert len(promoted) == (0 if blocks else 1)
    assert cockpit.store.numbers() == [1, 2]
    assert cockpit.store.current_number() == (1 if blocks else 2)


def test_without_a_fault_all_checks_pass(cockpit: Cockpit) -> None:
    run = cockpit.run_assets(*RELEASE)
    evaluations = [e for e in run.get_asset_check_evaluations()
                   if e.asset_key == dg.AssetKey("staged_release")]  # fmt: skip
    assert [e.check_name for e in evaluations] == list(CHECKS)
    assert all(evaluation.passed and evaluation.description for evaluation in evaluations)
    assert cockpit.store.current_number() == 2


def test_the_old_release_can_be_read_while_a_fault_is_staged(cockpit: Cockpit) -> None:
    overrate_a_book(cockpit)
    cockpit.run_assets(*RELEASE, must_succeed=False)
    assert cockpit.prices()[7] == 9700
    with cockpit.open() as opened:
        found = opened.search({"query": "바다"})
        assert [result.book_id for result in found.results][:1] == [1]


def test_a_part_that_is_gone_is_not_even_staged(cockpit: Cockpit) -> None:
    part = cockpit.record("popularity").tables["popularity"].parts[0]
    os.truncate(cockpit.layout.root / part.path, part.size_bytes - 1)
    run = cockpit.run_assets(*RELEASE, must_succeed=False)
    (failure,) = run.filter_events(lambda event: event.is_step_failure)
    assert failure.step_key == "staged_release"
    cause = failure.step_failure_data.error.cause if failure.step_failure_data.error else None
    assert cause is not None
    assert "run `lifehelper build`" in cause.message
    assert cockpit.store.numbers() == [1]


def test_a_part_that_lacks_a_column_is_not_even_staged(cockpit: Cockpit) -> None:
    lose_a_column(cockpit)
    run = cockpit.run_assets(*RELEASE, must_succeed=False)
    (failure,) = run.filter_events(lambda event: event.is_step_failure)
    cause = failure.step_failure_data.error.cause if failure.step_failure_data.error else None
    assert cause is not None
    assert "the parts of table 'category_map' do not hold the contract's columns" in cause.message
    assert cockpit.store.numbers() == [1]
