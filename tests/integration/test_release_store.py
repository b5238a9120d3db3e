from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import duckdb
import polars as pl
import pytest

from lifehelper_data.domain.errors import (
    CheckFailed,
    InvalidRequest,
    LockLost,
    NotFound,
    Unavailable,
    VerifyFailed,
)
from lifehelper_data.domain.release import ReleaseState
from lifehelper_data.stores import current, promotion
from lifehelper_data.stores.current import read_pointer, read_sidecar, repair_current
from lifehelper_data.stores.promotion import promote, rollback, rollback_target
from lifehelper_data.stores.releases import ReleaseStore
from lifehelper_data.stores.tags import tag_release
from lifehelper_data.stores.verify import verify
from tests.integration.release_kit import START, Shop, book, category, python


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "서점")


def test_published_release_is_staged_numbered_and_readable(shop: Shop) -> None:
    first = shop.publish(shop.marked("하나"))
    second = shop.publish(shop.marked("둘"))
    assert (first.number, second.number) == (1, 2)
    assert first.state is ReleaseState.STAGED
    assert shop.store.list() == [first, second]
    assert shop.store.latest() == second
    assert shop.store.current_number() is None
    assert (shop.marker(1), shop.marker("2")) == ("하나", "둘")
    assert [p.name for p in shop.layout.tmp.iterdir()] == []


def test_empty_workspace_has_no_releases(shop: Shop) -> None:
    assert (shop.store.list(), shop.store.latest(), shop.store.numbers()) == ([], None, [])


def test_numbers_are_never_used_again(shop: Shop) -> None:
    for marker in "abc":
        shop.publish(shop.marked(marker))
    shop.promote(3)
    shop.layout.release_file(3).unlink()
    assert shop.publish(shop.marked("d")).number == 4


@pytest.mark.parametrize("damage", ["missing", "shorter"])
def test_release_of_a_damaged_part_is_not_published(shop: Shop, damage: str) -> None:
    content = shop.marked("x")
    part = content.tables["books"].parts[0]
    if damage == "missing":
        shop.path(part).unlink()
    else:
        shop.path(part).write_bytes(shop.path(part).read_bytes()[:-1])
    with pytest.raises(CheckFailed, match=part.path):
        shop.publish(content)
    assert list(shop.layout.releases.iterdir()) == []


def test_lost_lock_publishes_nothing(shop: Shop) -> None:
    shop.publish(shop.marked("a"))
    content = shop.marked("b")
    with shop.lock() as lost:
        shop.layout.writer_lock.unlink()
        with shop.lock():
            with pytest.raises(LockLost):
                shop.store.publish(content, lost)
            with pytest.raises(LockLost):
                promote(shop.store, 1, lost)
    assert shop.store.numbers() == [1]
    assert shop.store.current_number() is None
    assert list(shop.layout.tmp.iterdir()) == []


def test_references(shop: Shop) -> None:
    shop.publish(shop.marked("a"))
    shop.publish(shop.marked("b"))
    with pytest.raises(NotFound, match=r"release promote N`; releases: 1, 2"):
        shop.store.resolve("current")
    shop.promote(2)
    with shop.lock() as lock:
        tag_release(shop.layout, 1, "first", lock)
    resolved = [shop.store.resolve(ref) for ref in ("current", "1", 2, "002", "first")]
    assert resolved == [2, 1, 2, 2, 1]
    for missing, shown in ((9, "9"), ("9", "9"), ("other", "'other'")):
        with pytest.raises(NotFound, match=rf"{shown} does not exist; releases: 1, 2, first"):
            shop.store.resolve(missing)
    for junk in ("", "Current", "-1", 0, -3, True, "1.5 ", "½", "../1"):
        with pytest.raises(InvalidRequest, match="neither a number"):
            shop.store.resolve(junk)


def test_reader_gives_frames_rows_and_tables(shop: Shop) -> None:
    rows = [book(1, price=10, listed_at=START), book(2, price=20)]
    shop.publish(shop.content(shop.table("books", rows)))
    with shop.store.open(1) as reader:
        assert reader.table("books").select("book_id", "price").rows() == [(1, 10), (2, 20)]
        frame = reader.frame("SELECT book_id, listed_at FROM books WHERE price < ?", [15])
        assert frame.schema == {"book_id": pl.Int64(), "listed_at": pl.Datetime("us", "UTC")}
        assert frame.rows() == [(1, START)]
        assert reader.rows("SELECT sum(price) FROM books") == [(30,)]
        with pytest.raises(NotFound, match="no table 'nothing'; it has books"):
            reader.table("nothing")
        with pytest.raises(duckdb.PermissionException):
            reader.rows("SELECT * FROM read_text('/etc/hostname')")
        other = shop.part("category_map", [category("x")])
        with pytest.raises(duckdb.PermissionException):  # a part of another release
            reader.rows(f"SELECT * FROM read_parquet('{shop.path(other)}')")
    reader.close()  # closing twice is harmless


def test_promotion_marks_points_and_copies(shop: Shop) -> None:
    staged = shop.publish(shop.marked("a"))
    shop.clock.advance(60)
    promoted = shop.promote(1)
    assert promoted == replace(staged, state=ReleaseState.PROMOTED, promoted_at=shop.clock())
    assert shop.store.load(1) == promoted
    assert shop.store.current_number() == 1
    assert shop.layout.current_database.read_bytes() == shop.layout.release_file(1).read_bytes()
    with duckdb.connect(str(shop.layout.current_database), read_only=True) as foreign:
        assert foreign.execute("SELECT title FROM books").fetchall() == [("a",)]


def test_promoting_twice_changes_nothing(shop: Shop) -> None:
    shop.publish(shop.marked("a"))
    first = shop.promote(1)
    pointer, file = read_pointer(shop.layout), shop.layout.release_file(1).read_bytes()
    shop.clock.advance(60)
    assert shop.promote(1) == first
    assert (read_pointer(shop.layout), shop.layout.release_file(1).read_bytes()) == (pointer, file)


def test_incomplete_release_is_not_promoted(shop: Shop) -> None:
    shop.publish(shop.marked("a"))
    shop.promote(1)
    content = shop.marked("b")
    shop.publish(content)
    part = content.tables["books"].parts[0]
    shop.path(part).write_bytes(b"")
    with pytest.raises(VerifyFailed, match=rf"release 2 .*{part.path}: 0 bytes instead of"):
        shop.promote(2)
    assert (shop.store.current_number(), shop.marker()) == (1, "a")
    assert shop.store.load(2).state is ReleaseState.STAGED


def test_rollback_walks_back_and_forgets_after_a_promotion(shop: Shop) -> None:
    for marker in "abcd":
        shop.publish(shop.marked(marker))
    for number in (1, 2, 3):
        shop.promote(number)
    with shop.lock() as lock:
        assert rollback(shop.store, lock).number == 2
        assert rollback(shop.store, lock).number == 1
        with pytest.raises(NotFound, match="no release to go back to"):
            rollback(shop.store, lock)
        assert rollback(shop.store, lock, to=2).number == 2  # forward again
        assert rollback_target(shop.store) == 1
        promote(shop.store, 4, lock)
        assert rollback(shop.store, lock).number == 2  # not 3, which was rolled back
        assert rollback(shop.store, lock, to=3).number == 3
    assert shop.marker() == "c"
    assert shop.layout.current_database.read_bytes() == shop.layout.release_file(3).read_bytes()


def test_rollback_to_a_staged_release_is_refused(shop: Shop) -> None:
    for marker in "ab":
        shop.publish(shop.marked(marker))
    shop.promote(2)
    with shop.lock() as lock:
        with pytest.raises(CheckFailed, match="never promoted; use `lifehelper release promote 1`"):
            rollback(shop.store, lock, to=1)
        with pytest.raises(NotFound):
            rollback(shop.store, lock, to=9)
    assert shop.store.current_number() == 2


class Crash(BaseException):
    """Stands for kill -9: nothing may handle it."""


def crash_at(monkeypatch: pytest.MonkeyPatch, module: object, name: str, call: int) -> None:
    """Make the so-many-th call of a function in a module crash instead."""
    real: Callable[..., object] = getattr(module, name)
    calls = iter(range(1, 100))

    def crashing(*args: object, **kwargs: object) -> object:
        if next(calls) == call:
            raise Crash
        return real(*args, **kwargs)

    monkeypatch.setattr(module, name, crashing)


@pytest.mark.parametrize(
    ("place", "in_service"),
    [
        ((current, "write_text", 1), "a"),  # before the checksum lists both
        ((current, "replace_file", 1), "a"),  # before the release file says promoted
        ((current, "write_text", 2), "a"),  # before the checksum is trimmed
        ((promotion, "write_pointer", 1), "a"),  # before the commit point
        ((promotion, "repair_current", 1), "b"),  # between pointer and copy
        ((current, "replace_file", 2), "b"),  # before the copy has its name
    ],
)
def test_crash_in_a_promotion_is_repaired(
    shop: Shop,
    monkeypatch: pytest.MonkeyPatch,
    place: tuple[object, str, int],
    in_service: str,
) -> None:
    shop.publish(shop.marked("a"))
    shop.promote(1)
    shop.publish(shop.marked("b"))
    with monkeypatch.context() as patch:
        crash_at(patch, *place)
        with pytest.raises(Crash):
            shop.promote(2)
    assert shop.marker() == in_service
    assert [p.what for p in verify(shop.store, 2).problems] == (
        ["is not a copy of release 2, which is in service"] if in_service == "b" else []
    )
    with duckdb.connect(str(shop.layout.current_database), read_only=True) as foreign:
        assert foreign.execute("SELECT title FROM books").fetchall() == [("a",)]
    # the next write operation repairs, and promoting again completes
    shop.publish(shop.marked("c"))
    assert shop.layout.current_database.read_bytes() == (
        shop.layout.release_file(2 if in_service == "b" else 1).read_bytes()
    )
    shop.promote(2)
    assert shop.marker() == "b"
    assert all(verify(shop.store, number).ok for number in (1, 2, 3))
    assert [len(read_sidecar(shop.layout, number)) for number in (1, 2, 3)] == [1, 1, 1]


def test_repair_says_whether_it_did_something(shop: Shop) -> None:
    with shop.lock() as lock:
        assert not repair_current(shop.layout, lock)
        shop.store.publish(shop.marked("a"), lock)
        promote(shop.store, 1, lock)
        assert not repair_current(shop.layout, lock)
        shop.layout.current_database.unlink()
        log = shop.layout.root / "current.duckdb.wal"
        log.write_bytes(b"left by a foreign client")
        assert repair_current(shop.layout, lock)
        assert not log.exists()
        assert not repair_current(shop.layout, lock)
        shop.layout.release_file(1).unlink()
        with pytest.raises(Unavailable, match=r"copy .*current\.duckdb"):
            repair_current(shop.layout, lock)


def test_open_release_survives_promotion_and_shows_the_same_rows(shop: Shop) -> None:
    shop.publish(shop.marked("a"))
    with shop.store.open(1) as reader:
        shop.promote(1)
        shop.publish(shop.marked("b"))
        shop.promote(2)
        assert reader.rows("SELECT title FROM books") == [("a",)]
        assert reader.release.state is ReleaseState.STAGED
        assert shop.store.load(1).state is ReleaseState.PROMOTED
        assert shop.marker() == "b"


FOREIGN_READER = """
import sys, duckdb
path, stop, seen, reads = sys.argv[1], False, [], 0
print("ready", flush=True)
import select
while True:
    connection = duckdb.connect(path, read_only=True)
    for _ in range(2):  # it stays one release for as long as it is open
        titles = connection.execute("SELECT title FROM books").fetchall()
        categories = connection.execute("SELECT category FROM category_map").fetchall()
        assert titles == categories and len(titles) == 1, (titles, categories)
    connection.close()
    reads += 1
    if not seen or seen[-1] != titles[0][0]:
        seen.append(titles[0][0])
        print("saw", titles[0][0], flush=True)
    if select.select([sys.stdin], [], [], 0)[0]:
        break
print("done", reads, flush=True)
"""


def test_foreign_reader_never_fails_nor_sees_a_mixture_during_promotions(shop: Shop) -> None:
    shop.publish(shop.marked("m0"))
    shop.promote(1)
    reader = python(FOREIGN_READER, str(shop.layout.current_database))
    assert reader.stdin is not None
    assert reader.stdout is not None
    assert reader.stdout.readline() == "ready\n"
    assert reader.stdout.readline() == "saw m0\n"
    for i in range(1, 11):
        number = shop.publish(shop.marked(f"m{i}")).number
        shop.promote(number)
    seen: list[str] = []
    while not seen or seen[-1] != "saw m10":  # its last opening is after the last promotion
        line = reader.stdout.readline()
        assert line, f"the reader died after {seen}"
        seen.append(line.strip())
    rest, _ = reader.communicate("stop\n", timeout=30)
    assert reader.returncode == 0
    word, reads = rest.split()
    assert (word, int(reads) >= 2) == ("done", True)
    assert seen == sorted(seen, key=lambda line: int(line.removeprefix("saw m")))


def test_reading_store_has_no_writer_lock(shop: Shop) -> None:
    with pytest.raises(InvalidRequest, match="opened for reading"):
        ReleaseStore(shop.layout, shop.clock).writer_lock()
