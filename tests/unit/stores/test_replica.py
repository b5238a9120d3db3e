from pathlib import Path

import pytest

from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.replica import hold_replicas, keep_replicas


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout(tmp_path / "workspace")
    made.create()
    return made


def new_file(layout: Layout, content: str) -> Path:
    path = layout.tmp / f"{content}.parquet"
    path.write_text(content)
    return path


def test_what_is_kept_is_held(layout: Layout) -> None:
    keep_replicas(layout, {"books": new_file(layout, "one")}, ["books", "memories"])
    held = hold_replicas(layout, ["books", "memories"], layout.tmp / "held")
    assert {table: path.read_text() for table, path in held.items()} == {"books": "one"}


def test_held_rows_stay_whatever_another_build_keeps(layout: Layout) -> None:
    keep_replicas(layout, {"books": new_file(layout, "one")}, ["books"])
    held = hold_replicas(layout, ["books"], layout.tmp / "held")
    keep_replicas(layout, {"books": new_file(layout, "two")}, ["books"])
    assert held["books"].read_text() == "one"
    again = hold_replicas(layout, ["books"], layout.tmp / "again")
    assert again["books"].read_text() == "two"


def test_a_file_system_without_links_gets_a_copy(
    layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("no links here")

    keep_replicas(layout, {"books": new_file(layout, "one")}, ["books"])
    monkeypatch.setattr("os.link", refuse)
    held = hold_replicas(layout, ["books", "memories"], layout.tmp / "held")
    assert {table: path.read_text() for table, path in held.items()} == {"books": "one"}


def test_files_are_moved_and_those_of_other_tables_go(layout: Layout) -> None:
    keep_replicas(layout, {"books": new_file(layout, "one")}, ["books"])
    keep_replicas(layout, {"memories": new_file(layout, "two")}, ["memories"])
    kept = sorted(p.relative_to(layout.replica).as_posix() for p in layout.replica.rglob("*.*"))
    assert kept == ["memories/rows.parquet"]
    assert list(layout.tmp.iterdir()) == []


def test_nothing_to_keep_makes_no_folder(layout: Layout) -> None:
    keep_replicas(layout, {}, [])
    assert not layout.replica.exists()
