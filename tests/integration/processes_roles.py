"""What processes on one workspace do: write, read, collect (see `processes_kit.Started`).

Each says that it is ready, begins when told to and prints one JSON document when it is done.
Readers and the collector go on until their standard input ends.
"""

import json
import os
import select
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import duckdb

from lifehelper_data.domain.errors import LifehelperError
from lifehelper_data.domain.retention import Retention
from lifehelper_data.pipelines.build import build_all
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.runtime.workspace import Workspace, utc_now
from lifehelper_data.settings import load_settings
from lifehelper_data.stores.current import equals_current
from lifehelper_data.stores.gc import run_gc
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.locks import REPORT_EVERY_S
from lifehelper_data.stores.releases import ReleaseStore
from lifehelper_data.stores.verify import verify
from tests.integration.processes_kit import (
    MARKS,
    STEPS,
    Collected,
    Made,
    mark_of,
    mark_shop,
)

READ_PAUSE_S: Final = 0.1
COLLECT_PAUSE_S: Final = 0.3
HARSH: Final = Retention(keep_last=8, keep_younger_than=timedelta(seconds=10), keep_daily_days=0)
"""What foreign clients, who cannot pin, live on: an opening of theirs takes well under 10 s."""
PART_GRACE: Final = timedelta(seconds=1)


@dataclass(slots=True, kw_only=True)
class Reads:
    """What a reader saw.

    Attributes:
        own, foreign: openings with our code, and of `current.duckdb` with DuckDB alone.
        mixed: openings in which not all rows said one mark, or a second look another one.
        numbers: releases in the order seen, without repetitions.
        marks: the mark by release number.
        errors: whatever went wrong.
    """

    own: int = 0
    foreign: int = 0
    mixed: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    marks: dict[int, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def opening(
        self, rows: Callable[[str], list[tuple[object, ...]]], number: int | None = None
    ) -> None:
        """Look twice at every table within one opening."""
        found = [(n, rows(query)) for _ in range(2) for n, query in MARKS.items()]
        ((seen,),) = rows("SELECT value::INT FROM release_facts WHERE key = 'number'")
        marks = {row[0] for _, table in found for row in table}
        if len(marks) != 1 or (number is not None and number != seen):
            self.mixed.append(f"release {seen}, opened as {number}: {found}")
            return
        (mark,) = marks
        assert isinstance(seen, int)
        assert isinstance(mark, int)
        if self.marks.setdefault(seen, mark) != mark:
            self.mixed.append(f"release {seen} said {self.marks[seen]}, now {mark}")
        if self.numbers[-1:] != [seen]:
            self.numbers.append(seen)


def make(layout: Layout, mark: int, folder: Path, *, published: bool = True) -> Made:
    """Materialise a marked shop as `lifehelper build` does; `published` says if that is news."""
    waits: list[str] = []
    settings = load_settings(layout.config_file, {}, {"run.search_assets": False})
    built = build_all(
        BuildContext(layout=layout, settings=settings, clock=utc_now),
        _writable(layout),
        mark_shop(folder, mark).mapping,
        on_wait=lambda owner, waited_s: waits.append(owner) if waited_s < REPORT_EVERY_S else None,
    )
    assert built.release.published is published, (mark, built.release.notes)
    return Made(
        mark=mark,
        number=built.release.release.number,
        promoted=built.release.promoted,
        waits=len(waits),
    )


def make_with_dagster(layout: Layout, mark: int, folder: Path, graph: "Graph") -> Made:
    """Materialise a marked shop with the job `build_all`."""
    done = run_job(layout, mark_shop(folder, mark).mapping, graph)
    (staged,) = done.asset_materializations_for_node("staged_release")
    (promoted,) = done.asset_materializations_for_node("promoted_release")
    assert staged.metadata["published"].value is True, mark
    assert promoted.metadata["release"].value == staged.metadata["release"].value
    return Made(
        mark=mark,
        number=int(staged.metadata["release"].value),
        promoted=bool(promoted.metadata["promoted"].value),
    )


class Graph(StrEnum):
    """How much of the asset graph a job materialises."""

    TABLES = "tables"
    """What needs neither a keyword index nor vectors, up to a promoted release."""
    SEARCH = "search"
    """Everything but the page."""
    WHOLE = "whole"


def run_job(
    layout: Layout, mapping: Path, graph: Graph, *, after_step: Callable[[str], None] | None = None
) -> Any:
    """Run the job `build_all` in this process, on an instance that nobody shares.

    Args:
        layout: the workspace.
        mapping: the source.
        graph: how much of it.
        after_step: called with the name of every step once it is done.
    """
    import dagster as dg

    from dagster_project.assets import search
    from dagster_project.definitions import definitions

    os.environ |= {
        "LIFEHELPER_WORKSPACE": str(layout.root),
        "LIFEHELPER__SOURCE": str(mapping),
        "LIFEHELPER__RUN__SEARCH_ASSETS": str(graph is not Graph.TABLES).lower(),
    }
    job = definitions().resolve_job_def("build_all")
    left_out = {
        Graph.TABLES: {
            "report", "preset_vectors", "similarity_calibration", *search.KEYWORD, *search.VECTORS
        },
        Graph.SEARCH: {"report"},
        Graph.WHOLE: set(),
    }[graph]  # fmt: skip
    if after_step is not None:

        @dg.success_hook
        def tell(context: dg.HookContext) -> None:
            after_step(context.step_key)

        job = job.with_hooks({tell})
    chosen = job.asset_layer.selected_asset_keys - {dg.AssetKey(name) for name in left_out}
    with dg.DagsterInstance.ephemeral() as instance:
        return job.execute_in_process(
            instance=instance,
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
            asset_selection=sorted(chosen),
        )


def write(layout: Layout, way: str, writer: int, rounds: int, folder: Path) -> list[Made]:
    """Materialise `rounds` shops that nobody else has, as `way` says.

    The whole graph includes its page, which only reads, in the last round.
    """
    marks = [mark_of(writer, round_) for round_ in range(1, rounds + 1)]
    if way == "build":
        return [make(layout, mark, folder) for mark in marks]
    if way == "dagster-tables":
        return [make_with_dagster(layout, mark, folder, Graph.TABLES) for mark in marks]
    *before, last = marks
    made = [make_with_dagster(layout, mark, folder, Graph.SEARCH) for mark in before]
    return [*made, make_with_dagster(layout, last, folder, Graph.WHOLE)]


def step_by_step(layout: Layout, mark: int, folder: Path) -> Made:
    """Run a job that stops after each of `STEPS` until it is told to go on."""

    def stop(step: str) -> None:
        if step in STEPS:  # not after checks
            _say(step)
            _await_go()

    done = run_job(layout, folder / "source.toml", Graph.TABLES, after_step=stop)
    (staged,) = done.asset_materializations_for_node("staged_release")
    return Made(mark=mark, number=int(staged.metadata["release"].value), promoted=True)


def read(layout: Layout) -> Reads:
    """Open what is in service, with our code and as a foreign client, until told to stop."""
    reads = Reads()
    while not _told_to_stop(READ_PAUSE_S):
        try:
            with Workspace.open(layout.root) as opened:
                reads.opening(lambda query: opened.sql(query).head(None)[0], opened.release.number)
            reads.own += 1
            with duckdb.connect(str(layout.current_database), read_only=True) as foreign:
                reads.opening(lambda query: foreign.execute(query).fetchall())
            reads.foreign += 1
        except (LifehelperError, duckdb.Error, OSError) as error:
            reads.errors.append(repr(error))
    return reads


def collect(layout: Layout) -> Collected:
    """Look at every release, run gc, and check bytes of what it kept, until told to stop."""
    store, seen, going = _writable(layout), Collected(), True
    while going:
        going = not _told_to_stop(COLLECT_PAUSE_S)
        for number in sorted(set(store.numbers()) - seen.marks.keys()):
            look = Reads()
            with closing(store.open(number)) as reader:
                look.opening(reader.rows, number)
            seen.marks |= look.marks
            seen.problems += look.mixed
        with store.writer_lock().hold() as lock:
            report = run_gc(store, lock, retention=HARSH, part_grace=PART_GRACE)
            current = store.current_number()
            if current is None or not equals_current(layout, current):
                seen.problems.append(f"current.duckdb is not release {current}")
        seen.passes += 1
        seen.dropped += report.deleted_releases
        seen.parts += len(report.deleted_parts)
        for number in sorted(n for n in report.kept if n < (current or 0))[:1]:
            seen.problems += map(str, verify(store, number).problems)
            seen.verified += 1
    return seen


def main(role: str, root: str, *arguments: str) -> None:
    """Play a role, once told to."""
    layout = Layout(Path(root))
    result: object
    if role.startswith("dagster"):
        import dagster_project.definitions  # noqa: F401 # starting up is not part of the race
    _say("ready")
    _await_go()
    match role:
        case "build" | "dagster-tables" | "dagster-whole":
            writer, rounds, folder = int(arguments[0]), int(arguments[1]), Path(arguments[2])
            result = [asdict(one) for one in write(layout, role, writer, rounds, folder)]
        case "dagster-steps":
            result = asdict(step_by_step(layout, int(arguments[0]), Path(arguments[1])))
        case "read":
            os.nice(5)  # writers first: the test is about them
            result = asdict(read(layout))
        case "collect":
            result = asdict(collect(layout))
        case _:
            raise AssertionError(role)
    _say(json.dumps(result, ensure_ascii=False))


def _writable(layout: Layout) -> ReleaseStore:
    return ReleaseStore(layout, utc_now, time.sleep)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _await_go() -> None:
    line = os.read(sys.stdin.fileno(), 3)  # unbuffered, as `select` wants it
    assert line == b"go\n", line


def _told_to_stop(within_s: float) -> bool:
    ready, _, _ = select.select([sys.stdin], [], [], within_s)
    return bool(ready)


if __name__ == "__main__":
    main(*sys.argv[1:])
