import json
import shutil
from pathlib import Path

import duckdb
import pytest

from lifehelper_data.domain.errors import NotFound, Unavailable, VerifyFailed
from lifehelper_data.stores.part_check import file_sha256
from lifehelper_data.stores.relocate import relocate
from lifehelper_data.stores.verify import verify
from tests.integration.release_kit import ManualClock, Shop, book, category, flip


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "ws")


class Recorder:
    """Remembers progress."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, int | None]] = []

    def step(self, label: str, done: int, total: int | None) -> None:
        self.steps.append((done, total))


def test_good_release_has_no_problems_and_shows_progress(shop: Shop) -> None:
    content = shop.content(
        shop.table("books", [book(1)], [book(2)]), shop.table("category_map", [category("x")])
    )
    shop.publish(content)
    shop.promote(1)
    progress = Recorder()
    report = verify(shop.store, 1, progress)
    sizes = [part.size_bytes for name in ("books", "category_map")
             for part in content.tables[name].parts]  # fmt: skip
    assert (report.ok, report.checked_parts) == (True, 3)
    assert report.checked_bytes == sum(sizes) + shop.layout.release_file(1).stat().st_size
    assert progress.steps == [(sum(sizes[:n]), sum(sizes)) for n in range(4)]
    assert list(shop.layout.pins.glob("*.json")) == []


def test_every_flipped_byte_of_a_part_is_found(shop: Shop) -> None:
    content = shop.marked("x")
    shop.publish(content)
    part = content.tables["category_map"].parts[0]
    path = shop.path(part)
    offsets = range(0, part.size_bytes, 97)
    assert len(offsets) > 5
    for offset in offsets:
        flip(path, offset)
        problems = verify(shop.store, 1).problems
        assert [(p.path, p.what) for p in problems] == [
            (part.path, "its bytes changed since it was built")
        ], offset
        flip(path, offset)
    assert verify(shop.store, 1).ok


def test_flipped_bytes_of_the_release_file_are_found(shop: Shop) -> None:
    shop.publish(shop.marked("x"))
    path = shop.layout.release_file(1)
    for offset in [*range(0, path.stat().st_size, 40_009), path.stat().st_size - 1]:
        flip(path, offset)
        report = verify(shop.store, 1)
        assert [p.path for p in report.problems] == ["releases/000001.duckdb"], offset
        assert report.checked_parts == 0
        flip(path, offset)
    assert verify(shop.store, 1).ok


def test_missing_and_short_parts_are_told_apart(shop: Shop) -> None:
    content = shop.marked("x")
    shop.publish(content)
    books, categories = (content.tables[name].parts[0] for name in ("books", "category_map"))
    shop.path(books).unlink()
    with shop.path(categories).open("ab") as handle:
        handle.write(b"!")
    problems = verify(shop.store, 1).problems
    assert [(p.path, p.what) for p in problems] == [
        (books.path, "missing"),
        (categories.path, f"{categories.size_bytes + 1} bytes instead of {categories.size_bytes}"),
    ]
    assert all("lifehelper build" in p.remedy for p in problems)


def test_checksum_file_is_checked_and_readable_by_sha256sum(shop: Shop) -> None:
    shop.publish(shop.marked("x"))
    sidecar = shop.layout.releases / "000001.sha256"
    sha256 = file_sha256(shop.layout.release_file(1))
    assert sidecar.read_text(encoding="utf-8") == f"{sha256}  000001.duckdb\n"
    flip(sidecar, 3)
    (problem,) = verify(shop.store, 1).problems
    assert problem.what == "its bytes or its checksum changed since it was published"
    sidecar.unlink()
    (problem,) = verify(shop.store, 1).problems
    assert (problem.path, "missing" in problem.what) == ("releases/000001.sha256", True)


def test_damaged_copy_for_foreign_clients_is_found_and_helps_a_damaged_original(
    shop: Shop,
) -> None:
    shop.publish(shop.marked("x"))
    shop.promote(1)
    flip(shop.layout.release_file(1), 20_000)
    (problem,) = verify(shop.store, 1).problems
    assert problem.remedy == "copy current.duckdb to releases/000001.duckdb"
    flip(shop.layout.release_file(1), 20_000)
    flip(shop.layout.current_database, 20_000)
    (problem,) = verify(shop.store, 1).problems
    assert (problem.path, problem.remedy) == (
        "current.duckdb",
        "run `lifehelper release promote 1`",
    )
    shop.promote(1)  # the remedy works
    assert verify(shop.store, 1).ok


def test_unknown_release_cannot_be_verified(shop: Shop) -> None:
    with pytest.raises(NotFound):
        verify(shop.store, 1)


def moved(shop: Shop, target: Path) -> Shop:
    shop.layout.root.rename(target)
    new = Shop(target)
    new.clock = ManualClock(shop.clock())
    return new


def test_moved_workspace_is_refused_until_it_is_relocated(shop: Shop, tmp_path: Path) -> None:
    for marker in "abc":
        shop.publish(shop.marked(marker))
    shop.promote(1)
    shop.promote(2)
    before = shop.store.list()
    new = moved(shop, tmp_path / "새 곳's")
    with pytest.raises(Unavailable, match="lifehelper release relocate"):
        new.store.open("current")
    assert [p.remedy for p in verify(new.store, 2).problems] == [
        "run `lifehelper release relocate`"
    ]
    progress = Recorder()
    with new.lock() as lock:
        assert relocate(new.store, lock, progress) == (1, 2, 3)
        assert relocate(new.store, lock) == ()
    assert progress.steps == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert new.store.list() == before  # identities, states and times are what they were
    assert [new.marker(ref) for ref in (1, "current", 3)] == ["a", "b", "c"]
    assert all(verify(new.store, number).ok for number in (1, 2, 3))
    with duckdb.connect(str(new.layout.current_database), read_only=True) as foreign:
        assert foreign.execute("SELECT title FROM books").fetchall() == [("b",)]
        root = foreign.execute("SELECT value FROM release_facts WHERE key = 'root'").fetchone()
        assert root == (json.dumps(str(new.layout.root), ensure_ascii=False),)


def test_copied_workspace_never_reads_the_original(shop: Shop, tmp_path: Path) -> None:
    shop.publish(shop.marked("a"))
    shutil.copytree(shop.layout.root, tmp_path / "copy")
    copy = Shop(tmp_path / "copy")
    with pytest.raises(Unavailable, match="still points into"):
        copy.store.open(1)
    with copy.lock() as lock:
        relocate(copy.store, lock)
    shutil.rmtree(shop.layout.root)
    assert copy.marker(1) == "a"


def test_relocation_without_all_parts_changes_nothing(shop: Shop, tmp_path: Path) -> None:
    shop.publish(shop.marked("a"))
    lost = shop.marked("b")
    shop.publish(lost)
    shop.path(lost.tables["books"].parts[0]).unlink()
    new = moved(shop, tmp_path / "new")
    before = new.layout.release_file(1).read_bytes()
    with new.lock() as lock, pytest.raises(VerifyFailed, match="release 2 lacks 1 parts"):
        relocate(new.store, lock)
    assert new.layout.release_file(1).read_bytes() == before
