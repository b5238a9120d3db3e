"""Dagster builds the same release as the command line, and shows what it built."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import dagster as dg
import pytest

from dagster_project.definitions import definitions
from dagster_project.metadata import column_schema
from lifehelper_data.domain.contract import ALL_TABLES, TABLES
from lifehelper_data.domain.release import Release
from tests.integration.build_kit import ROOT, TinyShop, build, store
from tests.integration.dagster_kit import SOURCE, Cockpit, described_shop, open_cockpit
from tests.integration.search_kit import WordEncoder, encoding_with

BAD_PRICE = "7,책 7,-1,true,소설,"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cockpit]:
    """A shop with one refused row, built by the job `build_all`."""
    folder = tmp_path_factory.mktemp("built")
    shop = described_shop(folder / "shop")
    lines = (shop.folder / "books.csv").read_text(encoding="utf-8").splitlines()
    many = [f"{i},책 {i},9000,true,소설," for i in range(100, 120)]  # 1 of 32 is below the limit
    shop.write("books.csv", lines[0], [*lines[1:7], BAD_PRICE, *lines[8:], *many])
    with open_cockpit(folder) as cockpit:
        cockpit.run_job("build_all")
        yield cockpit


def by_name(release: Release) -> dict[str, str]:
    """Return the identity of every table and artifact, and of the release."""
    content = release.content
    tables = {name: table.identity for name, table in content.tables.items()}
    artifacts = {f"artifact {name}": a.identity for name, a in content.artifacts.items()}
    return tables | artifacts | {"release": release.identity}


def shown(cockpit: Cockpit, asset: str) -> Mapping[str, dg.MetadataValue]:
    """Return the metadata of an asset's last materialisation."""
    event = cockpit.instance.get_latest_materialization_event(dg.AssetKey(asset))
    assert event is not None
    assert event.asset_materialization is not None
    return event.asset_materialization.metadata


def dagster_process(*arguments: str, workspace: Path, home: Path) -> "subprocess.Popen[str]":
    """Start Dagster's command line."""
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry:\n  enabled: false\n", encoding="utf-8")
    command = [sys.executable, "-m", "dagster", *arguments, "-m", "dagster_project.definitions"]
    environment = os.environ | {
        "LIFEHELPER_WORKSPACE": str(workspace),
        "DAGSTER_HOME": str(home),
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )


def test_the_job_gives_the_identities_of_a_build(built: Cockpit, tmp_path: Path) -> None:
    with encoding_with(WordEncoder()):
        command = build(tmp_path / "by-command", built.shop.mapping, run__search_assets=True)
    identities = by_name(built.current)
    assert identities == by_name(command.release.release)
    assert {"books", "popularity", "artifact books_vectors", "artifact books_keyword"} <= set(
        identities
    )
    assert built.store.numbers() == [1]
    for asset in ("staged_release", "promoted_release"):
        assert shown(built, asset)["identity"].value == identities["release"]


def test_materialising_all_in_a_process_gives_the_identities_of_a_build(tmp_path: Path) -> None:
    shop = TinyShop.create(tmp_path / "shop")  # no descriptions: no encoder is loaded
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "lifehelper.toml").write_text(f'source = "{SOURCE}"\n', encoding="utf-8")
    process = dagster_process(
        "asset", "materialize", "--select", "*", workspace=workspace, home=tmp_path / "home"
    )
    command = build(tmp_path / "by-command", shop.mapping, run__search_assets=True)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    releases = store(workspace)
    assert releases.numbers() == [1]
    assert releases.current_number() == 1
    assert by_name(releases.load(1)) == by_name(command.release.release)


def test_the_definitions_are_valid(tmp_path: Path) -> None:
    process = dagster_process("definitions", "validate", workspace=tmp_path, home=tmp_path / "home")
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    warnings = [line for line in output.splitlines() if "Warning:" in line]
    own = [line for line in warnings if "SupersessionWarning" not in line]  # Dagster's: use `dg`
    assert own == []


def test_a_load_shows_every_row(built: Cockpit) -> None:
    books = shown(built, "books")
    counts = {key: books[f"rows_{key}"].value for key in ("in", "kept", "quarantined")}
    assert counts == {"in": 32, "kept": 31, "quarantined": 1}
    others = {key: books[f"rows_{key}"].value for key in ("repeated", "duplicate", "orphan")}
    assert others == {"repeated": 0, "duplicate": 0, "orphan": 0}
    assert books["dagster/row_count"].value == 31
    assert shown(built, "quarantine")["dagster/row_count"].value == 1
    assert shown(built, "rejects")["dagster/row_count"].value == 0


@pytest.mark.parametrize(
    ("asset", "keys"),
    [
        ("books", {"seconds", "bytes", "rows_per_second", "preview", "plot", "identity"}),
        ("user_purchases", {"watermark_before", "watermark_after", "preview", "plot"}),
        ("user_reviews", {"watermark_before", "watermark_after", "plot"}),
        ("quarantine", {"preview", "plot", "bytes"}),
        ("popularity", {"seconds", "bytes", "rows_per_second", "preview", "plot",
                        "dagster/row_count", "dagster/column_lineage"}),
        ("similarity_calibration", {"seconds", "bytes", "preview", "dagster/column_lineage"}),
        ("preset_vectors", {"seconds", "bytes", "identity", "dagster/column_lineage"}),
        ("catalog_texts", {"seconds", "bytes", "rows_per_second", "books"}),
        ("catalog_embeddings", {"dim", "bytes", "seconds", "texts_embedded", "vector_space_id",
                                "dagster/row_count", "identity"}),
        ("keyword_index", {"bytes", "seconds", "rows_per_second", "texts_analysed", "identity"}),
        ("staged_release", {"release", "identity", "published", "books", "books_waiting",
                            "checks", "checks_held", "rows"}),
        ("promoted_release", {"release", "identity", "promoted", "in_service", "notes"}),
        ("report", {"page", "release"}),
    ],
)  # fmt: skip
def test_a_materialisation_shows(built: Cockpit, asset: str, keys: set[str]) -> None:
    metadata = shown(built, asset)
    assert keys <= set(metadata)
    assert all(metadata[key].value not in (None, "") for key in keys)


def test_the_numbers_that_are_shown_are_those_of_the_output(built: Cockpit) -> None:
    embeddings = shown(built, "catalog_embeddings")
    artifact = built.record("embeddings").artifacts["books_vectors"]
    assert (embeddings["dim"].value, embeddings["dagster/row_count"].value) == (384, 4)
    assert embeddings["bytes"].value == 4 * 384 * 4  # float32
    assert embeddings["identity"].value == artifact.identity
    popularity = built.record("popularity").tables["popularity"]
    assert shown(built, "popularity")["bytes"].value == popularity.parts[0].size_bytes
    staged = shown(built, "staged_release")
    assert (staged["checks"].value, staged["checks_held"].value) == (10, 10)
    assert (staged["books"].value, staged["books_waiting"].value) == (31, 0)


def test_previews_and_plots_need_no_network(built: Cockpit) -> None:
    books = shown(built, "books")
    preview, plot = str(books["preview"].value), str(books["plot"].value)
    header, rule, *rows = preview.splitlines()
    assert header.startswith("| book_id | title | author ")
    assert rule.startswith("| --- |")
    assert len(rows) == 5
    assert rows[0].startswith("| 1 | 책 1 |")
    assert plot.startswith("![books](data:image/png;base64,iVBOR")  # PNG's first bytes
    assert "http" not in plot


def test_watermarks_before_and_after_a_load(built: Cockpit) -> None:
    first = shown(built, "user_purchases")
    assert first["watermark_before"].value == "none"
    assert first["watermark_after"].value == "2026-03-10T01:00:10+00:00"  # 10:00:10 in Seoul
    newer = "5,6,2026-06-10 10:00:05"
    path = built.shop.folder / "purchases.csv"
    path.write_text(path.read_text(encoding="utf-8") + newer + "\n", encoding="utf-8")
    built.run_job("load_tables")
    second = shown(built, "user_purchases")
    assert second["watermark_before"].value == first["watermark_after"].value
    assert second["watermark_after"].value == "2026-06-10T01:00:05+00:00"
    built.run_job("load_tables")
    again = shown(built, "user_purchases")
    assert again["reused"].value is True
    assert "rows_per_second" not in again  # nothing was done, so it has no speed


def test_every_asset_says_who_owns_it_and_what_it_is(built: Cockpit) -> None:
    graph = definitions().resolve_asset_graph()
    keys = graph.get_all_asset_keys()
    assert {"source", *TABLES, "staged_release", "report"} <= {k.to_user_string() for k in keys}
    for key in keys:
        node = graph.get(key)
        name = key.to_user_string()
        assert node.group_name not in (None, "default"), name
        assert node.owners, name
        assert node.kinds, name
        assert node.description, name


def test_every_table_shows_the_columns_of_the_contract_with_their_meanings() -> None:
    graph = definitions().resolve_asset_graph()
    tables = [
        (name, graph.get(dg.AssetKey(name)).metadata.get("dagster/column_schema"))
        for name in ("popularity", "preset_vectors", "similarity_calibration", "quarantine",
                     "rejects", *TABLES)
    ]  # fmt: skip
    for name, schema in tables:
        assert schema is not None, name
        columns = column_schema(name)["dagster/column_schema"].columns
        assert [c.name for c in columns] == [c.name for c in ALL_TABLES[name].columns], name
        assert all(column.description and column.type for column in columns), name
        assert [c.constraints.nullable for c in columns] == [
            c.nullable for c in ALL_TABLES[name].columns
        ], name
