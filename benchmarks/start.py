"""P8: how long a cold process takes, and the next query in a warm one.

Cold means a new process; its files may lie in the memory of the system, as they do on a machine
that is used.
"""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks._process import Worker, run_command, run_nothing, run_worker
from benchmarks._shop import Shop, fixture_books
from benchmarks.kit import (
    FIXTURES,
    Bar,
    Benchmark,
    BenchResult,
    Quality,
    Scale,
    interleaved,
    load_average,
    machine,
    measured,
    median_percentile,
    require,
    timed,
)
from lifehelper_data.domain.ports import Progress

HELP_AT_MOST: Final = Bar(of="ours", at_most=0.7)
SEARCH_AT_MOST: Final = Bar(of="ours", at_most=6)
QUERY_AT_MOST: Final = Bar(of="ours", at_most=30)
QUERIES: Final = 20  # different ones in a round


def run(scale: Scale, progress: Progress) -> BenchResult:
    """Measure `--help`, a cold search and warm queries on a release built for it."""
    before = load_average()
    rounds = 5 if scale is Scale.FULL else 1
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        progress.step("building the workspace", 0, None)
        titles, size = _build(Path(folder), workspace, scale)
        quality = [_hybrid(workspace, titles[0])]
        starts = interleaved(
            {
                "help": lambda: timed(lambda: run_command("--help")),
                "nothing": lambda: timed(run_nothing),
            },
            rounds,
            progress,
        )
        cold = []
        for at in range(rounds):
            progress.step("cold searches", at, rounds)
            query = titles[at]
            cold.append(timed(lambda query=query: _search(workspace, query)))  # type: ignore[misc]
        with Worker("search", workspace) as worker:
            warm = [worker.ask([title]) for title in titles[-1:]]  # warm-up
            for at in range(rounds):
                progress.step("warm queries", at, rounds)
                warm.append(worker.ask(titles[at * QUERIES : (at + 1) * QUERIES]))
    quality.append(_all_hybrid(warm))
    times = [answer["ms"] for answer in warm[1:]]
    each = f"{rounds} x {QUERIES} different titles"
    return BenchResult(
        rows=(
            measured(
                "lifehelper --help, cold process",
                "s",
                median(starts["help"]),
                scale=scale,
                bound=median(starts["nothing"]),
                bar=HELP_AT_MOST,
            ),
            measured(
                f"lifehelper search, hybrid, {size}, cold process",
                "s",
                median(cold),
                scale=scale,
                bar=SEARCH_AT_MOST,
            ),
            measured(
                f"next query in the process, p50 of {each}",
                "ms",
                median_percentile(times, 50),
                scale=scale,
                bar=QUERY_AT_MOST,
            ),
            measured(
                f"next query in the process, p95 of {each}",
                "ms",
                median_percentile(times, 95),
                scale=scale,
            ),
        ),
        quality=tuple(quality),
        machine=machine(before),
        notes=(
            f"median of {rounds} rounds after one warm-up: processes are cold, the system's file "
            "cache is not",
            "bound of --help: an interpreter that starts and ends",
        ),
    )


def _build(folder: Path, workspace: Path, scale: Scale) -> tuple[list[str], str]:
    """Build the workspace; return different titles of its books, and its size in words."""
    if scale is Scale.FULL:
        run_worker("build", workspace, FIXTURES / "sources" / "fixture_shop.toml")
        titles = [book["title"] for book in fixture_books()]
    else:
        shop = Shop.of_size(120, 40, seed=1)
        run_worker("build", workspace, shop.write(folder / "shop"))
        titles = list(shop.titles.values())
    return list(dict.fromkeys(titles)), f"{len(titles)} books"


def _search(workspace: Path, query: str, *more: str) -> Any:
    return json.loads(run_command("search", query, "-w", workspace, "--json", *more))


def _hybrid(workspace: Path, query: str) -> Quality:
    """Require that a cold search finds the title, by both legs."""
    answer = _search(workspace, query, "--explain")
    legs = {leg for found in answer["results"] for leg in found["explanation"]["legs"]}
    first = answer["results"][0]["title"] if answer["results"] else None
    return require(
        f"cold search for {query!r}: degraded, legs, first title",
        f"{answer['degraded']}, {'+'.join(sorted(legs))}, {first}",
        "not degraded, keyword+vector, the title",
        holds=answer["degraded"] is None and legs == {"keyword", "vector"} and first == query,
    )


def _all_hybrid(answers: Sequence[Any]) -> Quality:
    """Require that no warm query was degraded or found nothing."""
    degraded = sum(state is not None for answer in answers for state in answer["degraded"])
    nothing = sum(not found for answer in answers for found in answer["found"])
    return require(
        "warm queries degraded, without results",
        f"{degraded}, {nothing}",
        "0, 0",
        holds=degraded == nothing == 0,
    )


BENCHMARK: Final = Benchmark(
    name="start",
    question="How long until a cold process answers, and the next query in it?",
    bar="--help <= 0.7 s; hybrid search <= 6 s; next query <= 30 ms",
    run=run,
)
