"""Every engine of a snapshot finds what brute force finds, and its derived file is never trusted.

Vectors lie in real tables; few rows are searched by codes here, because the threshold is lowered.
"""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifehelper_data.domain.search.scan import centre_of, quantise
from lifehelper_data.stores import vector_codes, vector_snapshot
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.vector_codes import load_codes, save_codes
from lifehelper_data.stores.vector_engine import Nearest, VectorEngine, choose_engine
from lifehelper_data.stores.vector_files import VectorFiles
from lifehelper_data.stores.vector_gc import gc_vectors
from lifehelper_data.stores.vector_snapshot import VectorSnapshot
from lifehelper_data.stores.vector_verify import verify_version
from lifehelper_data.stores.vector_version import VectorVersion
from tests.integration.search_kit import FIXTURE_VECTORS
from tests.integration.vector_kit import (
    DIM,
    SPACE,
    Row,
    digest,
    environment,
    open_table,
    put,
    rows_of,
    unit,
)

Vectors = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

EXACT_ENGINES = (VectorEngine.GATHERED, VectorEngine.FLOAT32, VectorEngine.INT8)
NO_GRACE = timedelta(seconds=-60)
FEW = 300


@pytest.fixture(autouse=True)
def few_rows_have_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_codes, "CODES_FROM_ROWS", FEW)


def published(root: Path, rows: dict[int, Row]) -> VectorSnapshot:
    table = open_table(root, dim=len(next(iter(rows.values()))[1]) if rows else DIM)
    put(table, rows)
    return opened(root, table.publish())


def opened(root: Path, version: VectorVersion) -> VectorSnapshot:
    return VectorSnapshot.open(Layout(root), version.name, version.vector_space_id, version.tag)


def codes_file(root: Path, version: VectorVersion) -> Path:
    return VectorFiles(Layout(root), version.name, version.vector_space_id).cached_codes(
        version.tag
    )


def held_in_memory(vectors: Vectors, ids: npt.NDArray[np.int64]) -> VectorSnapshot:
    """Return a snapshot of vectors without any table."""
    rows, dim = vectors.shape
    version = VectorVersion(
        name="books", vector_space_id=SPACE, dim=dim, version=1, tag="c-0123456789abcdef",
        rows=rows, content_digest="0", indexed=False, recall=None, probes=None,
    )  # fmt: skip
    return VectorSnapshot(
        version=version,
        item_ids=ids,
        vectors=vectors,
        _files=VectorFiles(Layout(Path("/nowhere")), "books", SPACE),
        _codes=quantise(vectors, centre_of(vectors)),
    )


def true_order(
    snapshot: VectorSnapshot, query: Vectors, k: int, mask: Mask | None = None
) -> list[tuple[int, float]]:
    """Return the best (id, cosine) of all rows in float64: higher cosine, then lower id."""
    scores = (snapshot.vectors.astype(np.float64) * query.astype(np.float64)).sum(axis=1)
    let_through = range(len(snapshot)) if mask is None else np.flatnonzero(mask).tolist()
    found = [(int(snapshot.item_ids[row]), float(scores[row])) for row in let_through]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[:k]


def pairs(found: Nearest) -> list[tuple[int, float]]:
    return list(zip(found.item_ids.tolist(), found.cosines.tolist(), strict=True))


def by_engine(
    engine: VectorEngine, snapshot: VectorSnapshot, query: Vectors, k: int, mask: Mask | None
) -> Nearest:
    """Search with an engine, whether it would be chosen or not."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(vector_snapshot, "choose_engine", lambda *_: engine)
        return snapshot.nearest(query, k, mask)


def assert_all_engines_equal_brute_force(
    snapshot: VectorSnapshot, query: Vectors, k: int, mask: Mask | None = None
) -> None:
    wanted = true_order(snapshot, query, k, mask)
    for engine in EXACT_ENGINES:
        found = by_engine(engine, snapshot, query, k, mask)
        assert pairs(found) == wanted, engine  # ids, order, and every bit of the cosines
        assert (found.engine, found.recall) == (engine, 1.0)
        assert found.considered == (len(snapshot) if mask is None else mask.sum())
        assert len(wanted) <= found.rescored <= found.considered


def shop_rows(count: int, *, dim: int = 24, seed: int = 1) -> dict[int, Row]:
    """Return rows that share a direction, a third of them equal to another one; ids with gaps."""
    rng = np.random.default_rng(seed)
    raw = 2 + rng.normal(size=(count, dim))
    raw[::3] = raw[0 : len(raw[::3])]
    return {7 + 3 * at: (digest(f"{seed}/{at}"), unit(*row)) for at, row in enumerate(raw.tolist())}


def queries(snapshot: VectorSnapshot, count: int = 5) -> list[Vectors]:
    rng = np.random.default_rng(9)
    near = [unit(*(row + 0.05 * rng.normal(size=len(row)))) for row in snapshot.vectors[:count]]
    return [*near, np.array(snapshot.vectors[0])]


@pytest.mark.parametrize("share", [None, 1, 0.5, 0.1, 0.01, 0.001, 0])
def test_every_engine_equals_brute_force_under_every_filter(
    tmp_path: Path, share: float | None
) -> None:
    snapshot = published(tmp_path, shop_rows(2000))
    rng = np.random.default_rng(2)
    mask = None if share is None else rng.random(len(snapshot)) < share
    for query in queries(snapshot):
        for k in (1, 10, 50, 3000):
            assert_all_engines_equal_brute_force(snapshot, query, k, mask)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_every_engine_searches_hardly_any_rows(
    tmp_path: Path, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_codes, "CODES_FROM_ROWS", 0)
    snapshot = published(tmp_path, rows_of(*range(count)))
    assert codes_file(tmp_path, snapshot.version).exists()
    for k in (1, 5):
        assert_all_engines_equal_brute_force(snapshot, unit(*[1.0] * DIM), k)


@pytest.mark.parametrize("name", ["books", "habits", "presets"])
def test_every_engine_equals_brute_force_on_real_vectors(name: str) -> None:
    with np.load(FIXTURE_VECTORS / f"{name}.npz", allow_pickle=False) as file:
        raw = file["vectors"].astype(np.float32)
    vectors = np.stack([unit(*row) for row in raw.tolist()])
    snapshot = held_in_memory(vectors, np.arange(len(vectors), dtype=np.int64))
    for query in vectors[::10]:
        assert_all_engines_equal_brute_force(snapshot, query, 10)
        assert_all_engines_equal_brute_force(snapshot, query, 50, vectors[:, 0] > 0)


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    count=st.integers(1, 80),
    dim=st.integers(1, 6),
    steps=st.integers(1, 3),
    k=st.integers(1, 90),
    share=st.none() | st.floats(0, 1),
)
def test_law_engines_equal_brute_force(
    seed: int, count: int, dim: int, steps: int, k: int, share: float | None
) -> None:
    rng = np.random.default_rng(seed)
    # few different numbers: many rows are equal, and many cosines
    raw = rng.integers(1, 1 + steps, (count, dim))
    vectors = np.stack([unit(*row) for row in raw.tolist()])
    ids = np.sort(rng.choice(10 * count, count, replace=False)).astype(np.int64)
    snapshot = held_in_memory(vectors, ids)
    query = unit(*rng.normal(size=dim))
    mask = None if share is None else rng.random(count) < share
    assert_all_engines_equal_brute_force(snapshot, query, k, mask)


def test_engine_follows_size_and_filter(tmp_path: Path) -> None:
    assert choose_engine(FEW - 1, FEW - 1) is VectorEngine.FLOAT32
    assert choose_engine(FEW, FEW) is VectorEngine.INT8
    assert choose_engine(FEW, 257) is VectorEngine.INT8
    assert choose_engine(FEW, 256) is VectorEngine.GATHERED
    assert choose_engine(256, 256) is VectorEngine.FLOAT32  # nothing is filtered away
    snapshot = published(tmp_path, shop_rows(FEW))
    query = queries(snapshot)[0]
    few = np.arange(FEW) < 20
    assert snapshot.nearest(query, 5).engine is VectorEngine.INT8
    found = snapshot.nearest(query, 5, few)
    assert (found.engine, found.considered, found.rescored) == (VectorEngine.GATHERED, 20, 20)
    ids, cosines = snapshot.search(query, 5, few)
    assert list(zip(ids.tolist(), cosines.tolist(), strict=True)) == pairs(found)


def test_index_is_asked_only_when_wanted_and_says_how_well_it_finds(tmp_path: Path) -> None:
    table = open_table(tmp_path)
    put(table, rows_of(*range(FEW)))
    version = table.publish(index_from_rows=0)
    snapshot = opened(tmp_path, version)
    query = np.array(snapshot.vectors[3])
    assert snapshot.nearest(query, 5).engine is VectorEngine.INT8
    found = snapshot.nearest(query, 5, approximate=True)
    assert (found.engine, found.recall, found.rescored) == (
        VectorEngine.INDEX,
        version.recall,
        5,
    )
    mask = np.ones(FEW, dtype=np.bool_)
    assert snapshot.nearest(query, 5, mask, approximate=True).engine is VectorEngine.INT8


def test_few_candidates_are_scored_exactly(tmp_path: Path) -> None:
    snapshot = published(tmp_path, shop_rows(3000, dim=48))
    for query in queries(snapshot):
        assert snapshot.nearest(query, 10).rescored < 300


def test_publishing_keeps_codes_of_many_rows_only(tmp_path: Path) -> None:
    many = published(tmp_path / "many", shop_rows(FEW))
    few = published(tmp_path / "few", shop_rows(FEW - 1))
    assert codes_file(tmp_path / "many", many.version).exists()
    assert not codes_file(tmp_path / "few", few.version).exists()
    assert few.nearest(queries(few)[0], 3).engine is VectorEngine.FLOAT32


def test_old_snapshot_without_codes_gets_them_at_its_first_search(tmp_path: Path) -> None:
    first = published(tmp_path, shop_rows(FEW))
    file = codes_file(tmp_path, first.version)
    made = file.read_bytes()
    file.unlink()
    snapshot = opened(tmp_path, first.version)
    assert not file.exists()  # opening reads nothing that a search may not need
    query = queries(snapshot)[0]
    assert pairs(snapshot.nearest(query, 10)) == true_order(snapshot, query, 10)
    assert file.read_bytes() == made


def damaged_files(good: bytes, other: bytes) -> dict[str, bytes]:
    """Return what may lie there instead of codes."""
    middle = (4096 + len(good)) // 2

    def flipped(at: int) -> bytes:
        return good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :]

    return {
        "empty": b"",
        "no header": good[:100],
        "header only": good[:4096],
        "cut short": good[:-1],
        "longer": good + b"\0",
        "a code changed": flipped(5000),
        "a number in the middle changed": flipped(middle),
        "the last byte changed": flipped(len(good) - 1),
        "the header changed": flipped(good.index(b'"rows": ') + 9),
        "text": b"not codes\n" * 1000,
        "binary": bytes(range(256)) * 40,
        "a list": b"[1, 2]".ljust(4096) + good[4096:],
        "those of other vectors": other,
    }


def test_damaged_codes_are_made_again_and_not_trusted(tmp_path: Path) -> None:
    first = published(tmp_path / "a", shop_rows(FEW))
    other = published(tmp_path / "b", shop_rows(FEW, seed=2))
    file = codes_file(tmp_path / "a", first.version)
    good = file.read_bytes()
    foreign = codes_file(tmp_path / "b", other.version).read_bytes()
    query = queries(first)[1]
    for what, content in damaged_files(good, foreign).items():
        assert content != good, what
        file.write_bytes(content)
        snapshot = opened(tmp_path / "a", first.version)
        files = VectorFiles(Layout(tmp_path / "a"), "books", SPACE)
        assert load_codes(files, first.version.tag, snapshot.vectors) is None, what
        (problem,) = verify_version(Layout(tmp_path / "a"), "books", SPACE, first.version.tag)
        assert problem.path.endswith(file.name), what
        assert "the next search makes it again" in problem.remedy
        assert pairs(snapshot.nearest(query, 10)) == true_order(snapshot, query, 10), what
        assert file.read_bytes() == good, what
        assert verify_version(Layout(tmp_path / "a"), "books", SPACE, first.version.tag) == []


def test_codes_that_cannot_be_written_are_held_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = published(tmp_path, shop_rows(FEW))
    file = codes_file(tmp_path, first.version)
    file.unlink()
    snapshot = opened(tmp_path, first.version)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(vector_codes, "replace_file", full)
    query = queries(snapshot)[0]
    for _ in range(2):
        assert pairs(snapshot.nearest(query, 10)) == true_order(snapshot, query, 10)
    assert list(file.parent.glob("*.codes*")) == []
    assert list(file.parent.glob(".*")) == []


def test_vectors_written_anew_take_stale_codes_away(tmp_path: Path) -> None:
    first = published(tmp_path, shop_rows(FEW))
    file = codes_file(tmp_path, first.version)
    good = file.read_bytes()
    file.write_bytes(b"stale")
    files = VectorFiles(Layout(tmp_path), "books", SPACE)
    files.cached_vectors(first.version.tag).unlink()
    opened(tmp_path, first.version)
    assert file.read_bytes() == good


def test_verify_reckons_every_bound_again(tmp_path: Path) -> None:
    snapshot = published(tmp_path, shop_rows(FEW))
    files, tag = VectorFiles(Layout(tmp_path), "books", SPACE), snapshot.version.tag
    other = np.array(snapshot.vectors)
    other[[1, 2]] = -other[[1, 2]]  # not among the rows by which codes of others are noticed
    save_codes(files, tag, other)
    assert load_codes(files, tag, snapshot.vectors) is not None
    (problem,) = verify_version(Layout(tmp_path), "books", SPACE, tag)
    assert problem.what == f"misplaces 2 of {FEW} rows"


def test_codes_go_with_their_tag_and_a_reader_goes_on(tmp_path: Path) -> None:
    table = open_table(tmp_path, dim=24)
    put(table, shop_rows(FEW))
    first = table.publish()
    put(table, shop_rows(FEW, seed=2))
    second = table.publish()
    reader = opened(tmp_path, first)
    query = queries(reader)[0]
    before = pairs(reader.nearest(query, 10))
    gc_vectors(
        Layout(tmp_path),
        {("books", SPACE, second.tag)},
        now=datetime.now(UTC),
        tag_grace=NO_GRACE,
        idle_grace=NO_GRACE,
    )
    assert not codes_file(tmp_path, first).exists()
    assert codes_file(tmp_path, second).exists()
    assert pairs(reader.nearest(query, 10)) == before
    assert verify_version(Layout(tmp_path), "books", SPACE, second.tag) == []


def test_threads_that_search_first_make_codes_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = published(tmp_path, shop_rows(FEW))
    codes_file(tmp_path, first.version).unlink()
    made: list[object] = []
    save = vector_codes.save_codes

    def counted(*arguments: Any) -> None:
        made.append(arguments)
        save(*arguments)

    monkeypatch.setattr(vector_codes, "save_codes", counted)
    snapshot = opened(tmp_path, first.version)
    asked = queries(snapshot)
    wanted = [true_order(snapshot, query, 10) for query in asked]
    gate, answers = Barrier(4), list[list[list[tuple[int, float]]]]()

    def search() -> None:
        gate.wait()
        answers.append([pairs(snapshot.nearest(query, 10)) for query in asked])

    threads = [Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [wanted] * 4
    assert len(made) == 1


def test_search_of_few_rows_imports_neither_numba_nor_lance(tmp_path: Path) -> None:
    snapshot = published(tmp_path, rows_of(1, 2, 3))
    code = (
        "import pathlib, sys\n"
        "from lifehelper_data.stores.layout import Layout\n"
        "from lifehelper_data.stores.vector_snapshot import VectorSnapshot\n"
        f"s = VectorSnapshot.open(Layout(pathlib.Path({str(tmp_path)!r})), 'books', {SPACE!r}, "
        f"{snapshot.version.tag!r})\n"
        "print(s.search(s.vectors[1], 1)[0].tolist())\n"
        "assert 'numba' not in sys.modules and 'lancedb' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout == "[2]\n"
