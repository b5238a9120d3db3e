"""Processes on one workspace: marked shops, starting a process, what it may not leave behind."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from lifehelper_data.stores.layout import Layout
from tests.integration.build_kit import MAPPING, ROOT, TinyShop

BOOKS: Final = 50
FIRST_TIME: Final = datetime(2024, 1, 1, tzinfo=UTC)
MARKS: Final[Mapping[str, str]] = {
    "books": (
        "SELECT DISTINCT price - 10000 FROM books UNION ALL "
        "SELECT DISTINCT split_part(title, ' ', 3)::BIGINT FROM books"
    ),
    "user_purchases": (
        "SELECT DISTINCT user_id // 1000 FROM user_purchases UNION ALL "
        "SELECT count(*) FROM user_purchases"
    ),
    "user_reviews": "SELECT DISTINCT user_id // 1000 FROM user_reviews",
    "popularity": "SELECT max(sales) FROM popularity",
    "facts": (
        "SELECT date_diff('minute', TIMESTAMPTZ '2024-01-01 00:00:00+00', "
        "(value->>'$.user_purchases')::TIMESTAMPTZ) FROM release_facts "
        "WHERE key = 'source_watermarks'"
    ),
}
"""How to find the mark in every table that carries it: all rows of all tables say one number."""


STEPS: Final = ("tables", "catalog_texts", "popularity", "staged_release", "promoted_release")


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One materialisation.

    Attributes:
        mark: of its source.
        number: the release that was made of it.
        promoted: whether its writer put it in service.
        waits: times it found the writer lock taken (writers without Dagster).
    """

    mark: int
    number: int
    promoted: bool
    waits: int = 0


@dataclass(slots=True, kw_only=True)
class Collected:
    """What the collector did.

    Attributes:
        passes: times gc ran.
        marks: the mark by number, of every release that ever lay there when it looked.
        dropped: releases that gc deleted.
        parts: parts that gc deleted.
        verified: releases whose every byte was checked, counted each time.
        problems: what was wrong with a release that is kept.
    """

    passes: int = 0
    marks: dict[int, int] = field(default_factory=dict)
    dropped: list[int] = field(default_factory=list)
    parts: int = 0
    verified: int = 0
    problems: list[str] = field(default_factory=list)


def mark_of(writer: int, round_: int) -> int:
    """Return the mark of a materialisation: writers from 1, rounds 1 to 20.

    >>> mark_of(1, 1), mark_of(1, 20), mark_of(2, 1)
    (21, 40, 41)
    """
    return 20 * writer + round_


def mark_shop(folder: Path, mark: int) -> TinyShop:
    """Write a shop of 50 books whose every table carries the mark.

    Book 50 sells `mark` times, the last time `mark` minutes after `FIRST_TIME`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shop = TinyShop(folder)
    shop.mapping.write_text(MAPPING, encoding="utf-8")
    shop.write(
        "books.csv",
        "book_id,title,price,category",
        [f"{i},책 {i} {mark},{10_000 + mark},소설" for i in range(1, BOOKS + 1)],
    )
    last = FIRST_TIME + timedelta(minutes=mark)
    shop.write(
        "purchases.csv",
        "user_id,book_id,purchased_at",
        [
            f"{1000 * mark + k},{BOOKS},{(last - timedelta(seconds=k)).isoformat()}"
            for k in range(mark)
        ],
    )
    shop.write(
        "reviews.csv",
        "user_id,book_id,rating,created_at",
        [f"{1000 * mark + k},{1 + k},4.0,{last.isoformat()}" for k in range(10)],
    )
    return shop


def prepare(workspace: Path, settings: Sequence[str] = ()) -> Layout:
    """Create a workspace whose history lies in one part, so that a materialisation is cheap."""
    layout = Layout(workspace.resolve())
    layout.create()
    lines = ["[run]", "history_buckets = 1", *settings]
    layout.config_file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return layout


def leftovers(layout: Layout) -> list[str]:
    """Return files of the workspace that only a running process may have."""
    return sorted(
        path.relative_to(layout.root).as_posix()
        for pattern in (
            "pins/*.json",
            "builds/sessions/*.json",
            "tmp/*",
            "writer.lock",
            "**/.*.tmp",
        )
        for path in layout.root.glob(pattern)
    )


class Started:
    """A process that runs a role, told what to do by its standard input."""

    def __init__(self, role: str, layout: Layout, *arguments: object) -> None:
        self.log = layout.root.with_name(f"{role}-{'-'.join(map(str, arguments[:1]))}.log")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable, "-m", "tests.integration.processes_roles",
                    role, str(layout.root), *map(str, arguments),
                ],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(ROOT), "DAGSTER_DISABLE_TELEMETRY": "yes"},
            )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def await_line(self, line: str) -> None:
        """Wait until it says a line."""
        said = self.stdout.readline()
        assert said == f"{line}\n", (said, self.log.read_text(encoding="utf-8"))

    def go(self) -> None:
        """Let it begin."""
        self.stdin.write("go\n")
        self.stdin.flush()

    def finish(self, timeout_s: float) -> Any:
        """Wait for its end, and return what it printed."""
        out, _ = self.process.communicate(timeout=timeout_s)
        said = self.log.read_text(encoding="utf-8")
        assert self.process.returncode == 0, said[-3000:]
        return json.loads(out)

    def end(self) -> None:
        """Kill it if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
