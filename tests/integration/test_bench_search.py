"""The benchmarks of vectors and of hybrid search, at their quick size."""

import importlib
from typing import Any

import pytest

from benchmarks.kit import Benchmark, BenchResult, QualityFailed, Scale
from lifehelper_data.domain.ports import NoProgress
from lifehelper_data.stores.vector_snapshot import VectorSnapshot


def quick(name: str) -> BenchResult:
    benchmark: Benchmark = importlib.import_module(f"benchmarks.{name}").BENCHMARK
    result = benchmark.run(Scale.QUICK, NoProgress())
    assert all(row.ours > 0 and row.holds is None for row in result.rows)
    return result


def test_vectors_are_measured_under_every_filter_beside_numpy_and_an_index() -> None:
    result = quick("vectors")
    judged = [row.what for row in result.rows if row.bar is not None]
    assert [what.split(", ")[1] for what in judged] == [
        "int8", "100.0% kept", "10.0% kept", "1.0% kept", "0.1% kept",
    ]  # fmt: skip
    assert all(what.endswith("p95") for what in judged)
    peers = {row.peer_name.split(",")[0] for row in result.rows if row.peer_name}
    assert peers == {"numpy float32", "LanceDB IVF_FLAT"}
    assert {row.unit for row in result.rows} == {"ms"}


def test_vectors_that_are_not_the_nearest_give_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    right = VectorSnapshot.search

    def misses_the_nearest(self: VectorSnapshot, query: Any, k: int, mask: Any = None) -> object:
        ids, cosines = right(self, query, k + 1, mask)
        return ids[1:], cosines[1:]

    monkeypatch.setattr(VectorSnapshot, "search", misses_the_nearest)
    with pytest.raises(QualityFailed, match="no filter: recall@10"):
        quick("vectors")


def test_hybrid_is_measured_whole_beside_lancedb() -> None:
    result = quick("hybrid")
    judged = [row for row in result.rows if row.bar is not None]
    assert [row.peer_name for row in judged] == ["LanceDB hybrid + RRF"]
    assert {q.required for q in result.quality} >= {"all", ">= 0.98", "0"}
