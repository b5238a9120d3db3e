"""Writers, readers and gc on one workspace: no lock error, nothing lost, nothing mixed."""

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from lifehelper_data.domain.errors import NotFound
from lifehelper_data.domain.release import ReleaseState
from lifehelper_data.runtime.workspace import open_store, utc_now
from lifehelper_data.stores import gc, promotion
from lifehelper_data.stores.build_records import require_record, reusable_record, save_record
from lifehelper_data.stores.current import read_pointer
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.releases import ReleaseStore
from lifehelper_data.stores.sessions import build_session, oldest_live_session_start
from lifehelper_data.stores.verify import verify
from tests.integration.processes_kit import (
    MARKS,
    STEPS,
    Made,
    Started,
    leftovers,
    mark_of,
    mark_shop,
    prepare,
)
from tests.integration.processes_roles import HARSH, Reads, make

BUILDS = ["build"] * 4
REGULAR = [*BUILDS, *["dagster-tables"] * 2, *["dagster-whole"] * 2]  # start-up: 10 s each
FULL = [*BUILDS, *["dagster-whole"] * 4]
READERS = 4
FIRST_MARK = 1


def check_many_processes(tmp_path: Path, ways: Sequence[str], rounds: int, limit_s: float) -> None:
    layout = prepare(tmp_path / "w")
    first = make(layout, FIRST_MARK, tmp_path / "first")
    with ExitStack() as stack:
        writers = [
            Started(way, layout, n, rounds, tmp_path / f"shop{n}") for n, way in enumerate(ways, 1)
        ]
        watchers = [Started("read", layout, n) for n in range(READERS)]
        collector = Started("collect", layout, 0)
        everybody = [*writers, *watchers, collector]
        for process in everybody:
            stack.callback(process.end)
        for process in everybody:
            process.await_line("ready")
        began = time.monotonic()
        for process in everybody:
            process.go()
        made = [Made(**one) for writer in writers for one in writer.finish(limit_s)]
        seconds = time.monotonic() - began
        reads = [_reads(watcher.finish(60)) for watcher in watchers]
        collected = collector.finish(60)
    seen = {int(number): mark for number, mark in collected["marks"].items()}
    store = open_store(layout.root)

    # nothing lost: every content was published once, under a number of its own, and stayed until
    # the rule let it go
    assert sorted(one.mark for one in made) == [
        mark_of(writer, round_)
        for writer in range(1, len(ways) + 1)
        for round_ in range(1, rounds + 1)
    ]
    made.append(first)
    published = {one.number: one.mark for one in made}
    assert sorted(published) == list(range(1, len(ways) * rounds + 2))
    assert seen.items() <= published.items()
    assert set(published) - set(seen) <= set(collected["dropped"])  # gone before it was looked at
    assert sorted([*collected["dropped"], *store.numbers()]) == sorted(published)
    # releases in service only ever grow, and the last word is the newest's
    pointer = read_pointer(layout)
    assert pointer is not None
    promoted = sorted(one.number for one in made if one.promoted)
    assert list(pointer.history) == promoted
    assert pointer.number == max(published)
    # nothing mixed, no error
    for read in reads:
        assert read.errors == []
        assert read.mixed == []
        assert min(read.own, read.foreign) > 0
        assert read.numbers == sorted(read.numbers)
        assert set(read.numbers) <= set(promoted)
        assert read.marks.items() <= published.items()
    assert len(set().union(*(read.numbers for read in reads))) > 1  # they watched it change
    # gc: worked meanwhile, and hurt nothing
    assert collected["problems"] == []
    assert collected["passes"] >= 2
    assert collected["dropped"]
    for number in store.numbers():
        assert verify(store, number).problems == ()
    assert leftovers(layout) == []
    _print_figures(len(ways), made, reads, collected, seconds, store)


def _reads(value: dict[str, object]) -> Reads:
    read = Reads(**value)  # type: ignore[arg-type] # as JSON holds it
    read.marks = {int(number): mark for number, mark in read.marks.items()}
    return read


def _print_figures(
    writers: int,
    made: list[Made],
    reads: list[Reads],
    collected: dict[str, object],
    seconds: float,
    store: ReleaseStore,
) -> None:
    promoted = Counter(one.promoted for one in made)
    sys.stdout.write(
        f"\n{len(made) - 1} materialisations by {writers} processes in {seconds:.1f} s "
        f"({(len(made) - 1) / seconds:.2f}/s); {promoted[True]} promoted, {promoted[False]} "
        f"overtaken; the lock was found taken {sum(one.waits for one in made)} times by the "
        "writers without Dagster"
        f"\n{sum(r.own for r in reads)} openings and {sum(r.foreign for r in reads)} foreign ones "
        f"by {READERS} readers, who saw {len(set().union(*(r.numbers for r in reads)))} releases"
        f"\ngc: {collected['passes']} passes, {len(store.numbers())} releases kept, "
        f"{len(made) - len(store.numbers())} dropped with {collected['parts']} parts, "
        f"{collected['verified']} verified"
    )


@pytest.mark.timeout(900)  # a busy machine: 8 minutes were seen beside three other heavy jobs
def test_eight_writers_four_readers_and_gc_meet_without_harm(tmp_path: Path) -> None:
    check_many_processes(tmp_path, REGULAR, 5, 700)


@pytest.mark.full
@pytest.mark.timeout(1800)
def test_eight_writers_of_twenty_materialisations_each(tmp_path: Path) -> None:
    check_many_processes(tmp_path, FULL, 20, 1500)


def marks(layout: Layout, number: int | str) -> set[object]:
    """Return the marks of all rows of a release: one, unless things were mixed."""
    with open_store(layout.root).open(number) as reader:
        return {row[0] for query in MARKS.values() for row in reader.rows(query)}


def test_runs_that_go_step_by_step_side_by_side_do_not_mix(tmp_path: Path) -> None:
    layout = prepare(tmp_path / "w")
    make(layout, 31, tmp_path / "s31")  # the first run finds its tables made already
    mark_shop(tmp_path / "s32", 32)
    with ExitStack() as stack:
        runs = [Started("dagster-steps", layout, n, tmp_path / f"s{n}") for n in (31, 32)]
        for run in runs:
            stack.callback(run.end)
            run.await_line("ready")
        for step in STEPS:
            for run in runs:  # one step of the one, one step of the other
                run.go()
                run.await_line(step)
        for run in runs:
            run.go()
        numbers = [run.finish(60)["number"] for run in runs]
    assert [marks(layout, number) for number in numbers] == [{31}, {32}]
    assert marks(layout, "current") == {32}


@pytest.mark.parametrize("step", ["tables", "staged_release"])
def test_killed_between_two_steps_leaves_what_was_served_and_the_next_run_repairs(
    tmp_path: Path, step: str
) -> None:
    layout = prepare(tmp_path / "w")
    make(layout, 31, tmp_path / "s31")
    mark_shop(tmp_path / "s32", 32)
    with ExitStack() as stack:
        killed = Started("dagster-steps", layout, 32, tmp_path / "s32")
        stack.callback(killed.end)
        killed.await_line("ready")
        killed.go()
        for done in STEPS[: STEPS.index(step) + 1]:
            killed.await_line(done)
            if done != step:
                killed.go()
        killed.process.send_signal(signal.SIGKILL)
        assert killed.process.wait() == -signal.SIGKILL
    assert marks(layout, "current") == {31}
    assert verify(open_store(layout.root), 1).problems == ()
    with ExitStack() as stack:
        again = Started("dagster-steps", layout, 32, tmp_path / "s32")
        stack.callback(again.end)
        again.await_line("ready")
        for done in STEPS:
            again.go()
            again.await_line(done)
        again.go()
        number = again.finish(60)["number"]
    assert number == 2  # what was staged before the kill is used, not made twice
    assert open_store(layout.root).current_number() == 2
    assert marks(layout, "current") == {32}
    assert verify(open_store(layout.root), 2).problems == ()
    assert leftovers(layout) == []


class Died(Exception):
    """A process ends here."""


@pytest.mark.parametrize("served", [[], [31]])
def test_build_that_died_in_the_middle_of_a_promotion_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: list[int]
) -> None:
    layout = prepare(tmp_path / "w")
    for mark in served:
        make(layout, mark, tmp_path / "shop")
    with monkeypatch.context() as patched:
        patched.setattr(promotion, "write_pointer", _die)  # its own file says promoted already
        with pytest.raises(Died):
            make(layout, 32, tmp_path / "shop")
    store = open_store(layout.root)
    number = len(served) + 1
    assert store.load(number).state is ReleaseState.PROMOTED
    assert store.current_number() == ((served and 1) or None)
    again = make(layout, 32, tmp_path / "shop", published=False)
    assert (again.number, again.promoted) == (number, True)
    assert store.current_number() == number
    assert marks(layout, "current") == {32}


def _die(*_: object) -> None:
    raise Died


def test_gc_spares_the_parts_of_a_step_that_ends_while_it_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = prepare(tmp_path / "w")
    make(layout, 31, tmp_path / "shop")
    record = require_record(layout, "tables")
    path = layout.parts / "books" / "of-a-step.parquet"
    path.write_bytes(b"1234")
    an_hour_ago = time.time() - 3600
    os.utime(path, (an_hour_ago, an_hour_ago))
    books = record.tables["books"]
    part = replace(books.parts[0], path=path.relative_to(layout.root).as_posix(), size_bytes=4)
    began = utc_now() - timedelta(hours=2)
    step = build_session(layout, iter([began, *[utc_now()] * 9]).__next__)
    step.__enter__()

    def ends(layout: Layout, now: datetime) -> datetime | None:
        save_record(layout, replace(record, tables={"books": replace(books, parts=(part,))}))
        step.__exit__(None, None, None)
        return oldest_live_session_start(layout, now)

    monkeypatch.setattr(gc, "oldest_live_session_start", ends)
    writable = ReleaseStore(layout, utc_now, time.sleep)
    with writable.writer_lock().hold(0) as lock:
        report = gc.run_gc(writable, lock, retention=HARSH, part_grace=timedelta(0))
    assert part.path not in report.deleted_parts
    assert path.exists()


def test_output_used_again_is_young_for_gc_and_belongs_to_the_run(tmp_path: Path) -> None:
    layout = prepare(tmp_path / "w")
    make(layout, 31, tmp_path / "shop")
    record = require_record(layout, "tables")
    paths = [layout.root / part.path for table in record.tables.values() for part in table.parts]
    for path in paths:
        os.utime(path, (0, 0))
    run = Layout(layout.root, run="night")
    assert reusable_record(run, "tables", record.input_digest) == record
    assert all(time.time() - path.stat().st_mtime < 60 for path in paths)
    make(layout, 32, tmp_path / "shop")  # another build, meanwhile
    assert require_record(run, "tables") == record
    paths[0].unlink()
    assert reusable_record(run, "tables", record.input_digest) is None


def test_opening_what_is_in_service_follows_it_when_gc_was_faster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = prepare(tmp_path / "w")
    for mark in (31, 32, 33):
        make(layout, mark, tmp_path / "shop")
    store = open_store(layout.root)
    meant = iter([1, 3, 3])  # 1 was in service when it was asked, and is gone when it is pinned
    monkeypatch.setattr(ReleaseStore, "current_number", lambda _: next(meant))
    layout.release_file(1).unlink()
    with store.open() as reader:
        assert reader.number == 3
    with pytest.raises(NotFound):
        store.open(1)
    meant = iter([1, 1])  # in service, and its file is lost: that is told
    with pytest.raises(NotFound):
        store.open()
