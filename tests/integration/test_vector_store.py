import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lifehelper_data.domain.errors import (
    CheckFailed,
    InvalidRequest,
    NotFound,
    Unavailable,
    WorkspaceLocked,
)
from lifehelper_data.stores import vector_index, vector_version
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.vector_files import HEAD_TAG, VectorFiles
from lifehelper_data.stores.vector_gc import gc_vectors
from lifehelper_data.stores.vector_index import unindexed_rows
from lifehelper_data.stores.vector_plan import sync_plan
from lifehelper_data.stores.vector_snapshot import VectorSnapshot
from lifehelper_data.stores.vector_verify import verify_version
from lifehelper_data.stores.vector_version import VectorVersion
from lifehelper_data.stores.vectors import VectorTable
from tests.integration.vector_kit import (
    DIM,
    SPACE,
    Row,
    environment,
    ids,
    open_table,
    put,
    row_of,
    rows_of,
    unit,
)

ALL_INDEXED = 0
NO_GRACE = timedelta(seconds=-60)


def collect(root: Path, *kept: VectorVersion) -> int:
    """Collect without any grace."""
    return gc_vectors(
        Layout(root),
        {(version.name, version.vector_space_id, version.tag) for version in kept},
        now=datetime.now(UTC),
        tag_grace=NO_GRACE,
        idle_grace=NO_GRACE,
    )


def opened(root: Path, version: VectorVersion) -> VectorSnapshot:
    return VectorSnapshot.open(Layout(root), version.name, version.vector_space_id, version.tag)


def forget_cache(root: Path, version: VectorVersion) -> None:
    files = VectorFiles(Layout(root), version.name, version.vector_space_id)
    files.cached_ids(version.tag).unlink()
    files.cached_vectors(version.tag).unlink()


def assert_holds(root: Path, version: VectorVersion, expected: dict[int, Row]) -> None:
    snapshot = opened(root, version)
    assert snapshot.item_ids.tolist() == sorted(expected)
    assert version.rows == len(expected)
    for item_id, (_, vector) in expected.items():
        assert snapshot.vector(item_id).tobytes() == vector.tobytes()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_writes_publishes_and_deletes_equal_a_dict(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, expected = open_table(tmp_path), dict[int, Row]()
    published: dict[str, tuple[VectorVersion, dict[int, Row]]] = {}
    files = VectorFiles(Layout(tmp_path), "books", SPACE)
    for step in range(20):
        match rng.choice(["upsert", "delete", "publish"], p=[0.5, 0.2, 0.3]):
            case "upsert":
                chosen = rng.choice(120, size=int(rng.integers(1, 60)), replace=False)
                rows = rows_of(*map(int, chosen), revision=int(rng.integers(3)))
                put(table, rows)
                expected |= rows
            case "delete":
                chosen = rng.choice(120, size=20, replace=False)
                gone = [int(i) for i in chosen if int(i) in expected]
                assert table.delete(chosen.astype(np.int64)) == len(gone)
                for item_id in gone:
                    del expected[item_id]
            case _:
                version = table.publish(index_from_rows=ALL_INDEXED)
                assert version.indexed == (len(expected) > 0)
                if expected:
                    assert unindexed_rows(files, files.open_table(), len(expected)) == 0
                published[version.tag] = version, dict(expected)
        assert len(table) == len(expected), step
        found = table.digests()
        assert found["item_id"].to_list() == sorted(expected)
        assert found["text_digest"].to_list() == [expected[i][0] for i in sorted(expected)]
    version = table.publish(index_from_rows=ALL_INDEXED)
    published[version.tag] = version, dict(expected)
    assert len(published) >= 3
    for version, content in published.values():
        forget_cache(tmp_path, version)  # read Lance itself
        assert_holds(tmp_path, version, content)
        assert verify_version(Layout(tmp_path), "books", SPACE, version.tag) == []
    keep = [version for version, _ in list(published.values())[::2]]
    assert collect(tmp_path, *keep) > 0
    for version, content in published.values():
        if version in keep:
            forget_cache(tmp_path, version)
            assert_holds(tmp_path, version, content)
            assert verify_version(Layout(tmp_path), "books", SPACE, version.tag) == []
        else:
            with pytest.raises(NotFound, match="has no version"):
                opened(tmp_path, version)


def test_index_of_an_empty_table_finds_everything_after_filling(tmp_path: Path) -> None:
    table = open_table(tmp_path)
    empty = table.publish(index_from_rows=ALL_INDEXED)
    assert (empty.rows, empty.indexed, empty.recall) == (0, False, None)
    files = VectorFiles(Layout(tmp_path), "books", SPACE)
    vector_index.train_index(files, files.open_table(), 0)  # Lance does index nothing
    put(table, rows_of(*range(500)))
    version = table.publish(index_from_rows=ALL_INDEXED)
    assert version.indexed
    assert version.recall is not None
    assert version.recall >= 0.98
    snapshot = opened(tmp_path, version)
    for item_id in range(0, 500, 25):
        found, cosines = snapshot.search(row_of(item_id)[1], 1, approximate=True)
        assert found.tolist() == [item_id]
        assert cosines[0] == pytest.approx(1, abs=1e-6)


def test_index_covers_rows_added_and_replaced_after_it_was_made(tmp_path: Path) -> None:
    table = open_table(tmp_path)
    files = VectorFiles(Layout(tmp_path), "books", SPACE)
    put(table, rows_of(*range(300)))
    table.publish(index_from_rows=ALL_INDEXED)
    put(table, rows_of(*range(250, 350), revision=1))
    assert unindexed_rows(files, files.open_table(), 350) > 0
    version = table.publish(index_from_rows=ALL_INDEXED)
    assert unindexed_rows(files, files.open_table(), 350) == 0
    assert version.indexed
    assert len(open_table(tmp_path)) == 350  # space and dim are still known
    snapshot = opened(tmp_path, version)
    for item_id, revision in ((0, 0), (249, 0), (250, 1), (349, 1)):
        found, _ = snapshot.search(row_of(item_id, revision)[1], 1, approximate=True)
        assert found.tolist() == [item_id]


@pytest.mark.parametrize("count", [1, 2, 10, 257])
def test_index_over_few_rows_reaches_each_of_them(tmp_path: Path, count: int) -> None:
    table = open_table(tmp_path)
    put(table, rows_of(*range(count)))
    version = table.publish(index_from_rows=ALL_INDEXED)
    assert (version.indexed, version.rows) == (True, count)
    found, _ = opened(tmp_path, version).search(row_of(0)[1], 1, approximate=True)
    assert found.tolist() == [0]


def test_index_that_lacks_a_row_fails_the_publication(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = open_table(tmp_path)
    put(table, rows_of(*range(500)))
    search = vector_index.search_index

    def lossy(*args: Any) -> Any:
        found = search(*args)
        return found[found != 77]

    monkeypatch.setattr(vector_index, "search_index", lossy)
    with pytest.raises(CheckFailed, match="leaves out 1 of 500 rows and finds 0"):
        table.publish(index_from_rows=ALL_INDEXED)


def test_index_that_misses_its_recall_fails_the_publication(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = open_table(tmp_path)
    put(table, rows_of(*range(50)))
    monkeypatch.setattr(vector_index, "search_index", lambda *_: ids(0))
    with pytest.raises(CheckFailed, match=r"finds 0\.\d+ of the true ten nearest with 7 probes"):
        table.publish(index_from_rows=ALL_INDEXED)
    monkeypatch.undo()
    with pytest.raises(NotFound):
        VectorSnapshot.open(Layout(tmp_path), "books", SPACE, "c-0000000000000000")
    assert table.publish(index_from_rows=ALL_INDEXED).recall == 1.0


def test_few_rows_are_searched_exactly_and_lose_an_index(tmp_path: Path) -> None:
    table = open_table(tmp_path)
    put(table, rows_of(*range(40)))
    indexed = table.publish(index_from_rows=40)
    exact = table.publish(index_from_rows=41)
    assert (indexed.indexed, exact.indexed) == (True, False)
    assert indexed.tag == exact.tag
    assert not opened(tmp_path, exact).version.indexed
    assert verify_version(Layout(tmp_path), "books", SPACE, exact.tag) == []


def test_replacing_rows_keeps_the_count_and_old_tags(tmp_path: Path) -> None:
    table = open_table(tmp_path)
    put(table, rows_of(1, 2, 3))
    first = table.publish()
    vectors = np.stack([row_of(2, 1)[1], row_of(3, 1)[1], row_of(4, 1)[1]])
    texts = [row_of(i, 1)[0] for i in (2, 3, 4)]
    done = table.upsert(ids(2, 3, 4), texts, vectors)
    assert (done.added, done.replaced, len(table)) == (1, 2, 4)
    second = table.publish()
    assert_holds(tmp_path, first, rows_of(1, 2, 3))
    assert_holds(tmp_path, second, rows_of(1) | rows_of(2, 3, 4, revision=1))


def test_same_content_gets_the_same_tag_whatever_the_history(tmp_path: Path) -> None:
    one, other = open_table(tmp_path / "one"), open_table(tmp_path / "other")
    put(one, rows_of(1, 2, 3, 4))
    put(other, rows_of(9, 4, revision=2))
    put(other, rows_of(4, 3))
    other.delete(ids(9))
    put(other, rows_of(2, 1))
    first, second = one.publish(), other.publish()
    assert (first.tag, first.content_digest) == (second.tag, second.content_digest)
    put(other, rows_of(1, revision=1))
    assert other.publish().tag != first.tag
    put(other, rows_of(1))
    assert other.publish().tag == first.tag


def test_publishing_unchanged_content_makes_no_version(tmp_path: Path) -> None:
    table = open_table(tmp_path)
    put(table, rows_of(1, 2))
    first = table.publish()
    manifests = sorted((tmp_path / "vectors" / f"books-{SPACE}.lance" / "_versions").iterdir())
    assert open_table(tmp_path).publish() == first
    table.upsert(ids(), [], np.zeros((0, DIM), np.float32))
    assert table.delete(ids(77)) == 0
    assert manifests == sorted(
        (tmp_path / "vectors" / f"books-{SPACE}.lance" / "_versions").iterdir()
    )


def test_another_space_or_dim_is_refused(tmp_path: Path) -> None:
    put(open_table(tmp_path), rows_of(1))
    with pytest.raises(InvalidRequest, match="holds vectors of dim '8', not '16'; configure"):
        open_table(tmp_path, dim=16)
    folder = tmp_path / "vectors"
    shutil.copytree(folder / f"books-{SPACE}.lance", folder / "books-ffff.lance")
    with pytest.raises(InvalidRequest, match=f"vector_space_id '{SPACE}', not 'ffff'; configure"):
        open_table(tmp_path, space="ffff")
    assert len(open_table(tmp_path, space="eeee")) == 0
    with pytest.raises(InvalidRequest, match=r"'\.\./books'"):
        open_table(tmp_path, name="../books")


def test_bad_rows_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    table = open_table(tmp_path)
    put(table, rows_of(1))
    good = np.stack([row_of(5)[1], row_of(6)[1]])
    for spoil in (np.nan, np.inf, 1e30, 2.0):
        bad = good.copy()
        bad[1, 3] = spoil
        with pytest.raises(InvalidRequest, match="vector of item 6 is not finite or not of length"):
            table.upsert(ids(5, 6), ["aa", "bb"], bad)
    with pytest.raises(InvalidRequest, match="item 5 is given twice"):
        table.upsert(ids(5, 5), ["aa", "bb"], good)
    with pytest.raises(InvalidRequest, match=r"need float32 \(1, 8\)"):
        table.upsert(ids(5), ["aa"], good)
    with pytest.raises(InvalidRequest, match="1 digests for 2 ids"):
        table.upsert(ids(5, 6), ["aa"], good)
    with pytest.raises(InvalidRequest, match="text digest 'x' of item 6"):
        table.upsert(ids(5, 6), ["aa", "x"], good)
    assert table.digests()["item_id"].to_list() == [1]


def test_write_that_is_not_read_back_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = open_table(tmp_path)
    put(table, rows_of(1, 2))
    monkeypatch.setattr(VectorTable, "_holds", lambda *_: False)
    with pytest.raises(Unavailable, match=r"books-\S+ is damaged: .* the write was undone; run `l"):
        put(table, rows_of(2, 3, revision=1))
    monkeypatch.undo()
    assert_holds(tmp_path, table.publish(), rows_of(1, 2))


def test_exact_search_equals_numpy_and_breaks_ties_by_id(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    table, rows = open_table(tmp_path), rows_of(*range(300))
    for item_id in range(100, 300):  # each vector of the first hundred stands there three times
        rows[item_id] = row_of(item_id)[0], rows[item_id % 100][1]
    shuffled = [int(i) for i in rng.permutation(300)]
    put(table, {item_id: rows[item_id] for item_id in shuffled})
    snapshot = opened(tmp_path, table.publish())
    matrix = np.stack([rows[i][1] for i in range(300)]).astype(np.float64)
    for _ in range(20):
        query = unit(*rng.normal(size=DIM))
        # the sum in another order differs in the last bits: rounding makes true ties equal again
        true = (matrix @ query.astype(np.float64)).round(12)
        order = sorted(range(300), key=lambda i: (-true[i], i))
        found, cosines = snapshot.search(query, 10)
        assert found.tolist() == order[:10]
        assert np.allclose(cosines, true[order[:10]], atol=1e-12)
        assert cosines[0] == cosines[1] == cosines[2]
    found, _ = snapshot.search(query, 1000)
    assert found.tolist() == order


def test_mask_is_applied_before_the_cut(tmp_path: Path) -> None:
    table = open_table(tmp_path)
    put(table, rows_of(*range(500)))
    version = table.publish(index_from_rows=ALL_INDEXED)
    snapshot = opened(tmp_path, version)
    query = row_of(0)[1]
    everything, _ = snapshot.search(query, 500)
    last = sorted(everything[-3:].tolist())
    mask = snapshot.mask(ids(*last, 9999))
    for approximate in (False, True):
        found, _ = snapshot.search(query, 10, mask, approximate=approximate)
        assert found.tolist() == everything[-3:].tolist()
    found, _ = snapshot.search(query, 10, ~mask)
    assert found.tolist() == everything[:10].tolist()
    found, cosines = snapshot.search(query, 10, np.zeros(500, dtype=np.bool_))
    assert (len(found), len(cosines)) == (0, 0)


def test_bad_queries_are_refused(tmp_path: Path) -> None:
    table = open_table(tmp_path)
    empty = opened(tmp_path, table.publish())
    assert [len(part) for part in empty.search(unit(*[1.0] * DIM), 5)] == [0, 0]
    put(table, rows_of(1, 2))
    snapshot = opened(tmp_path, table.publish())
    query = row_of(1)[1]
    bad: Any
    for bad, message in (
        (np.ones(DIM), "float64"),
        (query[:4], r"\(4,\)"),
        (query * np.float32(2), "length 1"),
        (query * np.float32(np.nan), "length 1"),
    ):
        with pytest.raises(InvalidRequest, match=message):
            snapshot.search(bad, 3)
    with pytest.raises(InvalidRequest, match="k = 0"):
        snapshot.search(query, 0)
    with pytest.raises(InvalidRequest, match=r"bool \(3,\)"):
        snapshot.search(query, 1, np.ones(3, dtype=np.bool_))
    with pytest.raises(NotFound, match="item 3"):
        snapshot.vector(3)


def test_snapshot_opens_without_lance(tmp_path: Path) -> None:
    table = open_table(tmp_path)
    put(table, rows_of(1, 2))
    tag = table.publish().tag
    code = (
        "import sys, pathlib\n"
        "from lifehelper_data.stores.layout import Layout\n"
        "from lifehelper_data.stores.vector_snapshot import VectorSnapshot\n"
        f"s = VectorSnapshot.open(Layout(pathlib.Path({str(tmp_path)!r})), 'books', {SPACE!r}, "
        f"{tag!r})\n"
        "print(s.search(s.vector(2), 1)[0].tolist(), 'lancedb' in sys.modules, "
        "'pyarrow' in sys.modules, 'polars' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[2] False False False\n"


def test_damaged_cache_is_made_again(tmp_path: Path) -> None:
    table = open_table(tmp_path)
    put(table, rows_of(1, 2, 3))
    version = table.publish()
    files = VectorFiles(Layout(tmp_path), "books", SPACE)
    cache = files.cached_vectors(version.tag)
    cache.write_bytes(cache.read_bytes()[:-4])
    assert_holds(tmp_path, version, rows_of(1, 2, 3))
    files.version_facts(version.tag).write_text("{")
    assert_holds(tmp_path, version, rows_of(1, 2, 3))
    shutil.rmtree(files.snapshots)
    assert_holds(tmp_path, version, rows_of(1, 2, 3))
    assert cache.exists()


def test_full_disk_serves_the_reader_from_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = open_table(tmp_path)
    put(table, rows_of(1, 2))
    version = table.publish()
    forget_cache(tmp_path, version)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(vector_version, "replace_file", full)
    assert_holds(tmp_path, version, rows_of(1, 2))
    snapshots = VectorFiles(Layout(tmp_path), "books", SPACE).snapshots
    assert sorted(snapshots.iterdir()) == []


def damage_manifest(folder: Path) -> None:
    for path in (folder / "_versions").glob("*.manifest"):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def damage_data(folder: Path) -> None:
    for path in (folder / "data").iterdir():
        path.write_bytes(b"\0" * 100)


def remove_data(folder: Path) -> None:
    for path in (folder / "data").iterdir():
        path.unlink()


@pytest.mark.parametrize("damage", [damage_manifest, damage_data, remove_data])
def test_damaged_table_is_named_with_the_remedy(tmp_path: Path, damage: object) -> None:
    table = open_table(tmp_path)
    put(table, rows_of(1, 2, 3))
    version = table.publish()
    assert callable(damage)
    damage(tmp_path / "vectors" / f"books-{SPACE}.lance")
    forget_cache(tmp_path, version)
    (problem,) = verify_version(Layout(tmp_path), "books", SPACE, version.tag)
    assert problem.path == f"vectors/books-{SPACE}.lance"
    assert "cannot be used" in problem.what
    assert "lifehelper build" in problem.remedy
    with pytest.raises(Unavailable, match=r"vectors/books-\S+ cannot be used: .*lifehelper build"):
        opened(tmp_path, version)
    with pytest.raises(Unavailable, match="cannot be used"):
        open_table(tmp_path).publish()


def test_verify_names_what_differs(tmp_path: Path) -> None:
    table = open_table(tmp_path)
    put(table, rows_of(1, 2))
    version = table.publish()
    layout = Layout(tmp_path)
    files = VectorFiles(layout, "books", SPACE)
    good = verify_version(
        layout, "books", SPACE, version.tag, rows=2, digest=version.content_digest
    )
    assert good == []
    (count,) = verify_version(layout, "books", SPACE, version.tag, rows=3)
    assert count.what == f"version {version.tag!r} has 2 rows instead of 3"
    (tag,) = verify_version(layout, "books", SPACE, "c-0000000000000000")
    assert "has no version 'c-0000000000000000'" in tag.what
    put(table, rows_of(2, revision=1))
    lance = files.open_table()
    lance.tags.update(version.tag, lance.version)  # the tag is moved to other content
    found = [problem.what for problem in verify_version(layout, "books", SPACE, version.tag)]
    assert any("holds other ids or text digests" in what for what in found)
    lance.update(where="item_id = 1", values={"vector": [2.0] * DIM})
    lance.tags.update(version.tag, lance.version)
    found = [problem.what for problem in verify_version(layout, "books", SPACE, version.tag)]
    assert any("not finite or not of length 1, the first that of item 1" in w for w in found)
    with pytest.raises(Unavailable, match="first that of item 1"):
        table.publish()


def test_moved_tag_is_set_right_by_the_next_publication(tmp_path: Path) -> None:
    table = open_table(tmp_path)
    put(table, rows_of(1))
    table.publish()
    put(table, rows_of(1, 2))
    version = table.publish()
    lance = VectorFiles(Layout(tmp_path), "books", SPACE).open_table()
    lance.tags.update(version.tag, 2)  # only item 1
    assert verify_version(Layout(tmp_path), "books", SPACE, version.tag) != []
    assert table.publish().tag == version.tag
    assert verify_version(Layout(tmp_path), "books", SPACE, version.tag) == []


def test_gc_keeps_kept_tags_and_frees_the_rest(tmp_path: Path) -> None:
    table = open_table(tmp_path)
    versions = []
    for start in range(0, 60, 10):
        put(table, rows_of(*range(start, start + 30), revision=start))
        versions.append(table.publish())
    put(open_table(tmp_path, name="habits"), rows_of(1))
    old_space = open_table(tmp_path, space="beef")
    put(old_space, rows_of(1))
    superseded = old_space.publish()
    put(table, rows_of(500))  # not published yet
    files = VectorFiles(Layout(tmp_path), "books", SPACE)
    reader, lance_reader = opened(tmp_path, versions[1]), files.open_table()
    lance_reader.checkout(versions[1].tag)
    before = lance_reader.to_arrow()
    mapped_of_dropped = opened(tmp_path, versions[2])
    copy = mapped_of_dropped.vectors.copy()
    data = len(list((files.table / "data").iterdir()))
    freed = collect(tmp_path, versions[1], versions[3])
    assert freed > sum(version.rows * DIM * 4 for version in (versions[0], versions[2]))
    assert lance_reader.to_arrow().equals(before)
    assert reader.search(row_of(20, 10)[1], 1)[0].tolist() == [20]
    assert np.array_equal(mapped_of_dropped.vectors, copy)
    for version in (versions[1], versions[3]):
        forget_cache(tmp_path, version)
        assert opened(tmp_path, version).version.rows == version.rows
        assert verify_version(Layout(tmp_path), "books", SPACE, version.tag) == []
    for version in (versions[0], versions[2], versions[4]):
        with pytest.raises(NotFound):
            opened(tmp_path, version)
    assert len(list((files.table / "data").iterdir())) < data
    assert len(table) == 81
    folders = sorted(p.name for p in (tmp_path / "vectors").iterdir() if p.is_dir())
    assert folders == [f"books-{SPACE}.lance", f"books-{SPACE}.snapshots"]
    assert superseded.rows == 1
    assert collect(tmp_path, versions[1], versions[3]) == 0
    put(table, rows_of(501))
    assert len(table) == 82


def test_gc_spares_what_is_young_or_being_written(tmp_path: Path) -> None:
    table = open_table(tmp_path)
    put(table, rows_of(1))
    version = table.publish()
    put(open_table(tmp_path, name="habits"), rows_of(1))
    scratch = VectorFiles(Layout(tmp_path), "books", SPACE).snapshots / ".half-written.tmp"
    scratch.touch()
    gc_vectors(Layout(tmp_path), set(), now=datetime.now(UTC))
    assert scratch.exists()
    assert [f.name for f in VectorFiles.found(Layout(tmp_path))] == ["books", "habits"]
    with table.writing():
        collect(tmp_path, replace(version, name="habits"))
    assert_holds(tmp_path, version, rows_of(1))
    collect(tmp_path, version, replace(version, name="habits"))
    assert not scratch.exists()
    put(open_table(tmp_path, name="habits"), rows_of(1))
    later = datetime.now(UTC) + timedelta(hours=2)  # past the grace of tags, not of idle tables
    assert gc_vectors(Layout(tmp_path), set(), now=later) > 0
    assert [f.name for f in VectorFiles.found(Layout(tmp_path))] == ["habits"]


def test_gc_killed_between_two_steps_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = open_table(tmp_path)
    put(table, rows_of(1, 2))
    first = table.publish()
    put(table, rows_of(2, 3))
    second = table.publish()
    put(table, rows_of(4))
    files = VectorFiles(Layout(tmp_path), "books", SPACE)
    lance = files.open_table()
    lance.tags.create(HEAD_TAG, lance.version)  # what gc does before it is killed
    lance.restore(first.tag)
    lance.tags.update(first.tag, lance.version)
    again = open_table(tmp_path)
    assert again.publish().rows == 4
    assert HEAD_TAG not in files.open_table().tags.list()
    assert again.digests()["item_id"].to_list() == [1, 2, 3, 4]
    assert_holds(tmp_path, first, rows_of(1, 2))
    collect(tmp_path, first, second)
    forget_cache(tmp_path, second)
    assert_holds(tmp_path, second, rows_of(1, 2, 3))


def test_reader_opens_kept_tags_while_versions_are_renumbered(tmp_path: Path) -> None:
    table = open_table(tmp_path)
    put(table, rows_of(*range(30)))
    kept = table.publish()
    stop, opened_times, failures = threading.Event(), 0, list[str]()

    def read() -> None:
        nonlocal opened_times
        while not stop.is_set():
            found = verify_version(Layout(tmp_path), "books", SPACE, kept.tag)
            failures.extend(str(problem) for problem in found)
            opened_times += 1

    reader = threading.Thread(target=read)
    reader.start()
    for revision in range(1, 6):
        put(table, rows_of(*range(30), revision=revision))
        table.publish()
        assert collect(tmp_path, kept) > 0
    stop.set()
    reader.join()
    assert failures == []
    assert opened_times > 10


UPSERT_FOREVER = """
import sys, pathlib
from tests.integration.vector_kit import open_table, put, rows_of
table = open_table(pathlib.Path(sys.argv[1]))
for start in range(0, 100_000, 25):
    put(table, rows_of(*range(start, start + 50), revision=start))
    print(start, flush=True)
"""

PUBLISH_AND_COLLECT_FOREVER = """
import sys, pathlib
from tests.integration.test_vector_store import collect
from tests.integration.vector_kit import open_table, put, rows_of
root = pathlib.Path(sys.argv[1])
table = open_table(root)
first = table.publish()
for revision in range(1, 100_000):
    put(table, rows_of(*range(20, 40), revision=revision))
    kept = table.publish()
    collect(root, first, kept)
    print(kept.tag, revision, flush=True)
"""

HOLD = """
import sys, pathlib
from tests.integration.vector_kit import open_table, put, rows_of
table = open_table(pathlib.Path(sys.argv[1]))
with table.writing():
    print("held", flush=True)
    sys.stdin.readline()
    put(table, rows_of(1, 2))
"""


def start(code: str, root: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", code, str(root)],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_killed_writer_leaves_whole_batches_and_can_resume(tmp_path: Path) -> None:
    done = -25
    for kill in range(3):
        process = start(UPSERT_FOREVER, tmp_path)
        assert process.stdout is not None
        for line in process.stdout:
            done = int(line)
            if done >= 25 * (3 + kill):
                break
        time.sleep(0.003 * kill)  # somewhere inside the next batch
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate(timeout=30)
        done = max([done, *map(int, rest.split())])
        table = open_table(tmp_path)
        found = table.digests()
        assert found["item_id"].to_list() == list(range(len(found)))
        # batch n holds ids n..n+49; the one that was being written is there whole or not at all
        assert len(found) >= done + 50
        assert len(found) % 25 == 0
        texts = found["text_digest"].to_list()
        assert texts[done + 25] in (row_of(done + 25, done)[0], row_of(done + 25, done + 25)[0])
    version = table.publish()
    wanted = table.digests().clear()
    assert sync_plan(table.digests(), table.digests()).unchanged == version.rows
    assert len(sync_plan(table.digests(), wanted).to_delete) == version.rows
    assert verify_version(Layout(tmp_path), "books", SPACE, version.tag) == []
    assert collect(tmp_path, version) > 0  # also what the killed writes left
    assert len(open_table(tmp_path)) == version.rows


def test_killed_gc_loses_neither_tags_nor_the_newest_rows(tmp_path: Path) -> None:
    base = rows_of(*range(20))
    for kill in range(3):
        root = tmp_path / str(kill)
        table = open_table(root)
        put(table, base)
        first = table.publish()
        process = start(PUBLISH_AND_COLLECT_FOREVER, root)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.11 * (kill + 1))  # gc takes most of the time of a round
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate(timeout=30)
        revision = int(rest.split()[-1]) if rest.split() else 1
        assert verify_version(Layout(root), "books", SPACE, first.tag) == []
        with table.writing():
            texts = table.digests()["text_digest"].to_list()
        assert texts[:20] == [text for text, _ in base.values()]
        assert len(texts) == 40
        written = {row_of(20, revision + ahead)[0]: revision + ahead for ahead in (0, 1)}
        newest = rows_of(*range(20, 40), revision=written[texts[20]])
        assert texts[20:] == [text for text, _ in newest.values()]
        last = table.publish()
        collect(root, first, last)
        forget_cache(root, first)
        assert_holds(root, first, base)
        assert_holds(root, last, base | newest)


def test_second_writer_waits_for_the_first(tmp_path: Path) -> None:
    process = start(HOLD, tmp_path)
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "held\n"
    table = open_table(tmp_path)
    with (
        pytest.raises(WorkspaceLocked, match="being written by another"),
        table.writing(wait=False),
    ):
        pass
    assert len(table) == 0  # readers do not wait
    process.stdin.write("\n")
    process.stdin.flush()
    put(table, rows_of(2, 3, revision=1))  # waits, then sees what the other wrote
    process.communicate(timeout=30)
    assert process.returncode == 0
    assert_holds(tmp_path, table.publish(), rows_of(1) | rows_of(2, 3, revision=1))
