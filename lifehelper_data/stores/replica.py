"""Rows as they were last read from a database, kept between builds.

One file per table, replaced whole: of two builds at once the last one wins, and whoever reads
holds on to the file that was there when it began.
"""

import os
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from lifehelper_data.stores.atomic import replace_file
from lifehelper_data.stores.layout import Layout

_FILE: Final = "rows.parquet"


def hold_replicas(layout: Layout, tables: Collection[str], folder: Path) -> dict[str, Path]:
    """Give the kept file of each table a second name in `folder`, where no other build has a hand.

    Args:
        layout: the workspace.
        tables: the contract tables wanted.
        folder: an empty folder of this build.

    Returns:
        The files by table; tables without one are left out.
    """
    held: dict[str, Path] = {}
    folder.mkdir(parents=True, exist_ok=True)
    for table in sorted(tables):
        path = folder / f"{table}.parquet"
        try:
            _second_name(_file(layout, table), path)
        except FileNotFoundError:
            continue
        held[table] = path
    return held


def keep_replicas(layout: Layout, files: Mapping[str, Path], tables: Collection[str]) -> None:
    """Put new files in the place of the kept ones, and drop those of other tables.

    Args:
        layout: the workspace.
        files: new files by table, on the workspace's file system; they are moved.
        tables: the tables that a database delivers now; kept files of others go.
    """
    for table, path in sorted(files.items()):
        target = _file(layout, table)
        target.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, target)
    for folder in sorted(layout.replica.glob("*")):
        if folder.name not in tables:
            shutil.rmtree(folder, ignore_errors=True)


def _second_name(path: Path, other: Path) -> None:
    try:
        os.link(path, other)
    except FileNotFoundError:
        raise
    except OSError:  # a file system without links
        shutil.copyfile(path, other)


def _file(layout: Layout, table: str) -> Path:
    return layout.replica / table / _FILE
