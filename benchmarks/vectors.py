"""P2: nearest vectors beside numpy's product in float32, filtered and not.

Vectors are made up, as crowded as those of sentences; the fixture's own are searched as well.
Before a time is printed: ids and order of every query equal those of float64 over all rows, under
every filter, and the vectors are as near to each other as real ones. LanceDB's index stands beside
as the approximate alternative, with the recall it reaches.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks._vectors import (
    DEPTH,
    DIM,
    ROW_BYTES,
    LanceTable,
    Mask,
    Vectors,
    crowded,
    fixture_vectors,
    numpy_top,
    queries_near,
    recall,
    sentence_like,
    snapshot_of,
    true_top,
)
from benchmarks.kit import (
    Bar,
    Benchmark,
    BenchResult,
    BenchRow,
    Quality,
    Scale,
    bandwidth_bytes_per_s,
    each_ms,
    interleaved,
    load_average,
    machine,
    measured,
    median_percentile,
    require,
    timed,
)
from lifehelper_data.domain.ports import Progress
from lifehelper_data.domain.search.scan import centre_of, quantise
from lifehelper_data.stores.vector_snapshot import VectorSnapshot

TOP: Final = 50
RECALL_AT_LEAST: Final = 0.995
AT_MOST: Final = Bar(of="ratio", at_most=0.4)
KEPT: Final = (1.0, 0.1, 0.01, 0.001)
PEER: Final = "numpy float32, unfiltered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many vectors, queries and rounds."""

    rows: int
    queries: int
    rounds: int


SIZES: Final = {
    Scale.FULL: Size(rows=200_000, queries=40, rounds=5),
    Scale.QUICK: Size(rows=4_000, queries=10, rounds=1),
}


def run(scale: Scale, progress: Progress) -> BenchResult:
    """Measure top 50 of all rows and of ever fewer, beside numpy and an index."""
    before = load_average()
    size = SIZES[scale]
    progress.step("vectors", 0, None)
    vectors = sentence_like(size.rows, seed=1)
    queries = list(queries_near(vectors, size.queries, seed=2))
    bandwidth = bandwidth_bytes_per_s()
    with snapshot_of(vectors) as snapshot, tempfile.TemporaryDirectory() as folder:
        rows, quality, rescored = _searches(
            snapshot, vectors, queries, folder=Path(folder), size=size, scale=scale,
            bandwidth=bandwidth, progress=progress,
        )  # fmt: skip
        rows.append(
            measured(
                f"quantising {size.rows:,} x {DIM}, once per tag", "ms",
                1000 * timed(lambda: quantise(vectors, centre_of(vectors))), scale=scale,
                bound=1000 * vectors.nbytes / bandwidth,
            )
        )  # fmt: skip
    real = _real(scale, size.rounds, progress)
    return BenchResult(
        rows=(*rows, real[0]),
        quality=(crowded(vectors), *quality, real[1]),
        machine=machine(before),
        notes=(
            f"times of a query: median of {size.rounds} rounds, sides taking turns in one process; "
            "numpy with the threads it chooses, ours with one",
            f"bound: the codes of the rows let through, read once at {bandwidth / 1e9:.0f} GB/s, "
            "the memory's bandwidth for one thread",
            f"without a filter {rescored} of {size.rows:,} rows were scored in float64, on average",
            "recall is proven (1.0), not only measured; the index is the alternative not taken",
        ),
    )


def _searches(
    snapshot: VectorSnapshot,
    vectors: Vectors,
    queries: Sequence[Vectors],
    *,
    folder: Path,
    size: Size,
    scale: Scale,
    bandwidth: float,
    progress: Progress,
) -> tuple[list[BenchRow], list[Quality], int]:
    """Measure all sides; return rows, what was checked, and the rows that were scored exactly."""
    rng = np.random.default_rng(3)
    masks: dict[str, Mask | None] = {"": None}
    masks |= {f", {share:.1%} kept": rng.random(size.rows) < share for share in KEPT}
    opening = 1000 * timed(lambda: snapshot.nearest(queries[0], TOP))
    quality = [_equals_brute_force(snapshot, vectors, queries, mask) for mask in masks.values()]
    progress.step("training the index", 0, None)
    index = LanceTable(folder, {}, vectors, queries)
    quality.append(index.reached)

    def ours(mask: Mask | None) -> list[float]:
        return each_ms(lambda query: snapshot.search(query, TOP, mask), queries)

    times = interleaved(
        {
            **{what: lambda mask=mask: ours(mask) for what, mask in masks.items()},  # type: ignore[misc]
            "numpy": lambda: each_ms(lambda q: numpy_top(vectors, q, TOP), queries),
            "index": lambda: each_ms(lambda q: index.nearest(q, TOP), queries),
        },
        size.rounds,
        progress,
    )
    named = f"top {TOP} of {size.rows:,} x {DIM}"
    rows = []
    for what, mask in masks.items():
        did = snapshot.nearest(queries[0], TOP, mask)
        rows += [
            measured(
                f"{named}{what}, {did.engine}, p{percent}", "ms",
                median_percentile(times[what], percent), scale=scale,
                peer_name=PEER, peer=median_percentile(times["numpy"], percent),
                bound=1000 * ROW_BYTES * did.considered / bandwidth,
                bar=AT_MOST if percent == 95 else None,
            )
            for percent in (50, 95)
        ]  # fmt: skip
    rows += [
        measured(
            f"{named}, p{percent}", "ms", median_percentile(times[""], percent), scale=scale,
            peer_name=f"LanceDB IVF_FLAT, recall@{DEPTH} {index.reached.value}",
            peer=median_percentile(times["index"], percent),
        )
        for percent in (50, 95)
    ]  # fmt: skip
    rows.append(measured("first search: codes checked, code loaded", "ms", opening, scale=scale))
    rescored = [snapshot.nearest(query, TOP).rescored for query in queries]
    return rows, quality, round(float(np.mean(rescored)))


def _equals_brute_force(
    snapshot: VectorSnapshot, vectors: Vectors, queries: Sequence[Vectors], mask: Mask | None
) -> Quality:
    true = [true_top(vectors, query, TOP, mask) for query in queries]
    found = [[int(row) for row in snapshot.search(query, TOP, mask)[0]] for query in queries]
    reached = recall(found, true, DEPTH)
    equal = sum(a == b for a, b in zip(found, true, strict=True))
    kept = "no filter" if mask is None else f"{int(mask.sum()):,} rows kept"
    return require(
        f"{kept}: recall@{DEPTH}; queries with float64's first {TOP} in its order",
        f"{reached:.4f}; {equal} of {len(queries)}",
        f">= {RECALL_AT_LEAST}; all",
        holds=reached >= RECALL_AT_LEAST and equal == len(queries),
    )


def _real(scale: Scale, rounds: int, progress: Progress) -> tuple[BenchRow, Quality]:
    """Measure the fixture's books: 450 real vectors, every tenth of them a query."""
    vectors = fixture_vectors()
    queries = list(vectors[::10])
    with snapshot_of(vectors) as snapshot:
        quality = _equals_brute_force(snapshot, vectors, queries, None)
        times = interleaved(
            {
                "ours": lambda: each_ms(lambda q: snapshot.search(q, TOP), queries),
                "numpy": lambda: each_ms(lambda q: numpy_top(vectors, q, TOP), queries),
            },
            rounds,
            progress,
        )
        engine = snapshot.nearest(queries[0], TOP).engine
    row = measured(
        f"top {TOP} of the fixture's {len(vectors)} books, {engine}, p50", "ms",
        median_percentile(times["ours"], 50), scale=scale,
        peer_name="numpy float32", peer=median_percentile(times["numpy"], 50),
    )  # fmt: skip
    return row, quality


BENCHMARK: Final = Benchmark(
    name="vectors",
    question="How fast are the 50 nearest of 200,000 vectors found, filtered and not?",
    bar="p95 <= 0.4x numpy float32 at recall@10 >= 0.995, with 100, 10, 1 and 0.1 % kept",
    run=run,
)
