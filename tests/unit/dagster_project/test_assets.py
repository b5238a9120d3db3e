"""The graph, looked at without running it."""

import ast
from pathlib import Path

import dagster as dg
import pytest

from dagster_project.automation import JOBS, RETRIES
from dagster_project.checks import RELEASE_CHECKS
from dagster_project.definitions import definitions
from dagster_project.lineage import LINEAGE
from lifehelper_data.domain.contract import ALL_TABLES
from lifehelper_data.pipelines.checks import BLOCKING, CHECKS

PROJECT = Path(__file__).parents[3] / "dagster_project"
MODULES = sorted(PROJECT.rglob("*.py"))
VECTOR_COLUMNS = {"catalog_embeddings": {"vector"}}
"""Assets that are no contract tables, with the columns that lineage may name."""


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_holds_no_sql_and_no_numpy(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            assert not {"numpy", "polars", "duckdb"} & {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in {"numpy", "polars", "duckdb"}
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert not node.value.lower().lstrip().startswith(("select ", "with "))


@pytest.mark.parametrize(
    "path", [p for p in MODULES if p.parent.name == "assets" or p.stem in {"checks", "sensors"}],
    ids=lambda path: path.stem,
)  # fmt: skip
def test_bodies_are_thin(path: Path) -> None:
    functions = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.decorator_list
    ]
    for node in functions:
        first = node.body[1] if ast.get_docstring(node) else node.body[0]
        lines = (node.end_lineno or first.lineno) - first.lineno + 1
        assert lines <= 15, (node.name, lines)
    assert functions or path.stem == "__init__"


def test_lineage_names_columns_of_the_contract_on_both_sides() -> None:
    for table, columns in LINEAGE.items():
        assert set(columns) <= {c.name for c in ALL_TABLES[table].columns}, table
        for sources in columns.values():
            assert sources
            for asset, column in sources:
                known = VECTOR_COLUMNS.get(asset) or {c.name for c in ALL_TABLES[asset].columns}
                assert column in known, (table, asset, column)


def test_every_column_of_popularity_has_a_lineage() -> None:
    assert set(LINEAGE["popularity"]) == {c.name for c in ALL_TABLES["popularity"].columns}


def test_lineage_names_assets_of_the_graph() -> None:
    keys = {k.to_user_string() for k in definitions().resolve_asset_graph().get_all_asset_keys()}
    named = {asset for columns in LINEAGE.values() for s in columns.values() for asset, _ in s}
    assert set(LINEAGE) | named <= keys


def test_every_check_of_a_release_is_shown_with_its_meaning() -> None:
    assert [spec.name for spec in RELEASE_CHECKS] == list(CHECKS)
    assert {spec.name for spec in RELEASE_CHECKS if spec.blocking} == BLOCKING
    assert all(spec.description and spec.description.endswith(".") for spec in RELEASE_CHECKS)


def test_what_is_derived_hangs_on_what_it_reads() -> None:
    graph = definitions().resolve_asset_graph()

    def parents(name: str) -> set[str]:
        return {key.to_user_string() for key in graph.get(dg.AssetKey(name)).parent_keys}

    assert parents("books") == {"source"}
    assert parents("catalog_texts") == {"books", "habit_catalog"}
    assert parents("keyword_index") == parents("catalog_embeddings") == {"catalog_texts"}
    assert parents("popularity") == {
        "catalog_texts", "book_popularity", "user_purchases", "user_reviews",
    }  # fmt: skip
    assert parents("promoted_release") == {"staged_release"}
    assert parents("report") == {"promoted_release"}
    everything = {k.to_user_string() for k in graph.get_all_asset_keys()}
    assert parents("staged_release") == everything - {
        "source", "staged_release", "promoted_release", "report",
    }  # fmt: skip


def test_jobs_that_write_are_retried_from_failure() -> None:
    retried = {job.name for job in JOBS if RETRIES.items() <= (job.tags or {}).items()}
    assert retried == {job.name for job in JOBS} - {"check_freshness"}
    assert RETRIES == {"dagster/max_retries": "2", "dagster/retry_strategy": "FROM_FAILURE"}


def test_what_automation_starts_is_retried_from_failure() -> None:
    sensor = definitions().resolve_sensor_def("downstream_of_changes")
    assert isinstance(sensor, dg.AutomationConditionSensorDefinition)
    assert RETRIES.items() <= sensor.run_tags.items()
    assert sensor.default_status is dg.DefaultSensorStatus.RUNNING


def test_everything_derived_has_a_condition_and_what_is_loaded_has_none() -> None:
    graph = definitions().resolve_asset_graph()
    by_condition: dict[bool, set[str]] = {True: set(), False: set()}
    for key in graph.get_all_asset_keys():
        by_condition[graph.get(key).automation_condition is not None].add(key.to_user_string())
    assert {"books", "user_purchases", "quarantine", "source"} <= by_condition[False]
    assert by_condition[True] == {
        "catalog_texts", "popularity", "keyword_index", "habit_keyword_index",
        "catalog_embeddings", "habit_embeddings", "preset_vectors", "similarity_calibration",
        "staged_release", "promoted_release", "report",
    }  # fmt: skip
