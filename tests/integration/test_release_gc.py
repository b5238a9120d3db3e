import signal
from datetime import timedelta
from pathlib import Path

import pytest

from lifehelper_data.domain.errors import LockLost, NotFound, Unavailable
from lifehelper_data.domain.release import ReleaseContent
from lifehelper_data.domain.retention import Retention
from lifehelper_data.stores.gc import GcReport, plan_gc, run_gc
from lifehelper_data.stores.sessions import build_session
from lifehelper_data.stores.tags import tag_release
from tests.integration.release_kit import Shop, category, python

LAST_ONE = Retention(keep_last=1, keep_younger_than=timedelta(0), keep_daily_days=0)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "ws")


def publish_daily(shop: Shop, markers: str) -> list[ReleaseContent]:
    """Publish one release a day and end a day after the last day."""
    contents = []
    for marker in markers:
        contents.append(shop.marked(marker))
        shop.publish(contents[-1])
        shop.clock.advance(86_400)
    shop.clock.advance(86_400)
    return contents


def gc(shop: Shop, retention: Retention = LAST_ONE, extra: tuple[int, ...] = ()) -> GcReport:
    with shop.lock() as lock:
        return run_gc(shop.store, lock, retention=retention, protected_extra=extra)


def files(shop: Shop) -> set[str]:
    found = (p for p in shop.layout.root.rglob("*") if p.is_file() and ".guard" not in p.name)
    return {p.relative_to(shop.layout.root).as_posix() for p in found}


def test_only_what_no_retained_release_names_is_deleted(shop: Shop) -> None:
    shared = shop.table("category_map", [category("shared")])
    old = shop.content(shop.table("frame_patterns", [{"keyword": "old"}]), shared)
    new = shop.content(shop.table("frame_patterns", [{"keyword": "new"}]), shared)
    for content in (old, new):
        shop.publish(content)
    shop.clock.advance(2 * 86_400)
    old_part = old.tables["frame_patterns"].parts[0]
    sizes = [
        path.stat().st_size
        for path in (
            shop.layout.release_file(1),
            shop.layout.release_file(1).with_suffix(".sha256"),
            shop.path(old_part),
        )
    ]
    before = files(shop)
    planned = plan_gc(shop.store, retention=LAST_ONE)
    assert files(shop) == before
    done = gc(shop)
    expected = {"releases/000001.duckdb", "releases/000001.sha256", old_part.path}
    assert before - files(shop) == expected
    assert done == GcReport(
        dry_run=False,
        kept={2: "last"},
        deleted_releases=(1,),
        deleted_parts=(old_part.path,),
        bytes_freed=sum(sizes),
    )
    assert (planned.dry_run, planned.deleted_parts, planned.bytes_freed) == (
        True,
        done.deleted_parts,
        done.bytes_freed,
    )
    assert gc(shop) == GcReport(dry_run=False, kept={2: "last"})


def test_reasons(shop: Shop) -> None:
    publish_daily(shop, "abcdefgh")
    for number in (1, 2):
        shop.promote(number)
    with shop.lock() as lock:
        tag_release(shop.layout, 3, "stable", lock)
    with shop.store.open(4):
        report = gc(shop, extra=(5,))
    assert report.kept == {
        1: "previous", 2: "current", 3: "tag stable", 4: "pinned", 5: "in use", 8: "last",
    }  # fmt: skip
    assert report.deleted_releases == (6, 7)
    assert gc(shop, extra=(5,)).deleted_releases == (4,)  # the reader has closed
    assert shop.marker() == "b"


def test_retention_is_asked(shop: Shop) -> None:
    publish_daily(shop, "abc")
    assert gc(shop, Retention()).kept == {1: "last", 2: "last", 3: "last"}
    daily = Retention(keep_last=1, keep_younger_than=timedelta(0), keep_daily_days=3)
    # now is 4 days after a: b was made 3 days back
    assert gc(shop, daily).kept == {2: "daily", 3: "last"}


def test_open_reader_still_reads_after_gc(shop: Shop) -> None:
    publish_daily(shop, "ab")
    with shop.store.open(1) as reader:
        gc(shop)
        assert reader.rows("SELECT title FROM books") == [("a",)]
    gc(shop)
    with pytest.raises(NotFound):
        shop.store.open(1)


READER = """
import sys, pathlib
from datetime import datetime, UTC
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.releases import ReleaseStore
reader = ReleaseStore(Layout(pathlib.Path(sys.argv[1])), lambda: datetime.now(UTC)).open(1)
print("open", flush=True)
sys.stdin.read()
"""


def test_reader_in_another_process_protects_until_it_is_killed(shop: Shop) -> None:
    publish_daily(shop, "ab")
    process = python(READER, str(shop.layout.root))
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    assert gc(shop).kept == {1: "pinned", 2: "last"}
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    assert len(list(shop.layout.pins.glob("*.json"))) == 1  # it could not tidy up
    assert gc(shop).deleted_releases == (1,)
    assert list(shop.layout.pins.glob("*.json")) == []


def test_young_parts_and_parts_of_running_builds_stay(shop: Shop) -> None:
    old = shop.part("category_map", [category("old")])
    shop.clock.advance(3_600)
    with build_session(shop.layout, shop.clock):
        shop.clock.advance(60)
        built = shop.part("category_map", [category("of the session")])
        shop.clock.advance(10_000)
        assert gc(shop).deleted_parts == (old.path,)
    young = shop.part("category_map", [category("young")])
    shop.clock.advance(3_600)  # exactly one hour is not older than one hour
    assert gc(shop).deleted_parts == (built.path,)
    shop.clock.advance(1)
    assert gc(shop).deleted_parts == (young.path,)


def test_scratch_of_crashes_is_deleted_once_it_is_old(shop: Shop) -> None:
    publish_daily(shop, "a")
    names = [
        "tmp/release-1.duckdb", "tmp/deep/spill", "releases/.current.json.1.tmp",
        "pins/.x.tmp", "parts/books/.half.tmp", ".writer.lock.1.tmp", "releases/000009.sha256",
    ]  # fmt: skip
    for name in names:
        path = shop.layout.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"1234567")
    real_now = (shop.layout.root / names[0]).stat().st_mtime
    shop.clock.advance(real_now - shop.clock().timestamp() + 3_500)
    assert gc(shop).deleted_scratch == ()
    shop.clock.advance(200)
    report = gc(shop)
    assert {*report.deleted_scratch, *report.deleted_parts} == set(names)
    assert report.bytes_freed == 7 * len(names)
    assert shop.marker(1) == "a"


def test_unreadable_release_file_stops_everything(shop: Shop) -> None:
    publish_daily(shop, "abc")
    shop.layout.release_file(2).write_bytes(b"damaged")
    before = files(shop)
    with pytest.raises(Unavailable, match=r"nothing was deleted: .*000002\.duckdb"):
        gc(shop)
    assert files(shop) == before


def test_lost_lock_deletes_nothing(shop: Shop) -> None:
    publish_daily(shop, "ab")
    before = files(shop)
    with shop.lock() as lost:
        shop.layout.writer_lock.unlink()
        with pytest.raises(LockLost):
            run_gc(shop.store, lost, retention=LAST_ONE)
    assert files(shop) == before


def test_crash_between_releases_and_parts_is_finished_by_the_next_run(shop: Shop) -> None:
    contents = publish_daily(shop, "ab")
    shop.layout.release_file(1).unlink()  # all that the crashed run did
    report = gc(shop)
    parts = sorted(table.parts[0].path for table in contents[0].tables.values())
    assert (report.deleted_releases, list(report.deleted_parts)) == ((), parts)
    assert shop.marker(2) == "b"
