"""Helpers for tests that build workspaces: a tiny shop on disk, builds here and elsewhere."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lifehelper_data.pipelines.build import WholeBuild, build_all
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.settings import load_settings
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.releases import ReleaseStore

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "fixtures" / "sources"
REAL_DATA = ROOT.parent / "shared" / "data"
TABLES_ONLY = {"LIFEHELPER__RUN__SEARCH_ASSETS": "false"}
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)

MAPPING = """
naive_timezone = "Asia/Seoul"
[files.raw_books]
path = "books.csv"
[files.raw_purchases]
path = "purchases.csv"
[files.raw_reviews]
path = "reviews.csv"
[tables.books]
sql = "select * from raw_books"
[tables.user_purchases]
sql = "select * from raw_purchases"
[tables.user_reviews]
sql = "select * from raw_reviews"
"""


@dataclass(frozen=True)
class TinyShop:
    """A shop of a few CSV files in a folder."""

    folder: Path

    @property
    def mapping(self) -> Path:
        """The mapping file."""
        return self.folder / "source.toml"

    def write(self, name: str, header: str, lines: list[str]) -> None:
        """Write one CSV file."""
        (self.folder / name).write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")

    @classmethod
    def create(cls, folder: Path, *, books: int = 50, users: int = 40) -> "TinyShop":
        """Write `books` books, and three purchases and one review per user."""
        folder.mkdir(parents=True, exist_ok=True)
        shop = cls(folder)
        shop.mapping.write_text(MAPPING, encoding="utf-8")
        shop.write(
            "books.csv",
            "book_id,title,price,category",
            [f"{i},책 {i},{9000 + 100 * i},소설" for i in range(1, books + 1)],
        )
        shop.write(
            "purchases.csv",
            "user_id,book_id,purchased_at",
            [
                f"{u},{1 + (u * 7 + k) % books},2026-0{1 + k}-10 10:00:{u % 60:02d}"
                for u in range(1, users + 1)
                for k in range(3)
            ],
        )
        shop.write(
            "reviews.csv",
            "user_id,book_id,rating,created_at",
            [f"{u},{1 + u % books},{1 + u % 5}.0,2026-05-01 09:00:00" for u in range(1, users + 1)],
        )
        return shop

    def replace(self, name: str, old: str, new: str) -> None:
        """Replace the one occurrence of a text in a file."""
        path = self.folder / name
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, (name, old, text.count(old))
        path.write_text(text.replace(old, new), encoding="utf-8")


def context(workspace: Path, **flags: object) -> BuildContext:
    """Return a build context with a fixed clock, tables only unless the flags say otherwise.

    Flags are dotted settings with `__` for dots.
    """
    layout = Layout(workspace.resolve())
    layout.create()
    dotted: dict[str, object] = {"run.search_assets": False}
    dotted |= {name.replace("__", "."): value for name, value in flags.items()}
    return BuildContext(layout=layout, settings=load_settings(None, {}, dotted), clock=lambda: NOW)


def store(workspace: Path) -> ReleaseStore:
    """Return the releases of a workspace, writable."""
    return ReleaseStore(Layout(workspace.resolve()), lambda: NOW, time.sleep)


def build(
    workspace: Path, mapping: Path, *, stage_only: bool = False, **flags: object
) -> WholeBuild:
    """Build in this process."""
    return build_all(context(workspace, **flags), store(workspace), mapping, stage_only=stage_only)


def identities(built: WholeBuild) -> dict[str, str]:
    """Return table identities by name."""
    return {n: t.identity for n, t in built.release.release.content.tables.items()}


def part_paths(built: WholeBuild) -> set[str]:
    """Return the paths of all parts."""
    tables = built.release.release.content.tables.values()
    return {part.path for table in tables for part in table.parts}


def command(*arguments: object) -> list[str]:
    """Return the argument list that runs the command line in another process."""
    code = "from lifehelper_data.cli.main import main; main()"
    return [sys.executable, "-c", code, *map(str, arguments)]


def run(*arguments: object, expect: int = 0, **environment: str) -> Any:
    """Run the command line in another process with --json and return the document it prints."""
    done = subprocess.run(
        command(*arguments, "--json"),
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | TABLES_ONLY | environment,
    )
    assert done.returncode == expect, (done.returncode, done.stdout, done.stderr)
    return json.loads(done.stdout)
