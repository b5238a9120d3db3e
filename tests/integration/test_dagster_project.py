"""Dagster builds the same release as the command line."""

from pathlib import Path

import dagster as dg
import pytest

from dagster_project.assets import popularity, release, search, tables
from dagster_project.resources import WorkspaceResource
from tests.integration.build_kit import ROOT, TinyShop, build, store

ASSETS = [
    tables.tables,
    popularity.popularity,
    search.keyword_index,
    search.embeddings,
    search.preset_vectors,
    search.similarity_calibration,
    release.release,
]


@pytest.fixture
def instance(tmp_path: Path) -> dg.DagsterInstance:
    """A Dagster instance that leaves nothing behind."""
    return dg.DagsterInstance.ephemeral(tempdir=str(tmp_path / "dagster"))


def test_materialising_all_gives_the_identity_of_a_build(
    tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    shop = TinyShop.create(tmp_path / "shop")  # no descriptions: no encoder is loaded
    built = build(tmp_path / "by-command", shop.mapping, run__search_assets=True)
    workspace = WorkspaceResource(path=str(tmp_path / "by-dagster"), source=str(shop.mapping))
    done = dg.materialize(ASSETS, instance=instance, resources={"workspace": workspace})
    assert done.success
    releases = store(tmp_path / "by-dagster")
    assert releases.current_number() == 1
    assert releases.load(1).identity == built.release.release.identity
    (event,) = done.asset_materializations_for_node("release")
    assert event.metadata["identity"].value == built.release.release.identity
    rows = {
        m.asset_key.to_user_string(): m.metadata["dagster/row_count"].value
        for m in done.asset_materializations_for_node("tables")
    }
    assert rows["books"] == 50
    assert rows["rejects"] == 0


def test_asset_bodies_are_thin_and_hold_no_sql_or_numpy() -> None:
    import ast

    for path in sorted((ROOT / "dagster_project" / "assets").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert "import numpy" not in text, path.name
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                lines = (node.end_lineno or node.lineno) - node.body[0].lineno + 1
                assert lines <= 15, (path.name, node.name, lines)
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not node.value.lower().startswith(("select ", "with ")), path.name
