"""P6: ranking metrics per user beside ranx, and the bootstrap of their means.

Both sides start from their own objects, made beforehand, and are warm. Before a time is printed:
every value of every user equals ranx's to 1e-9, and ir-measures' (trec_eval) on a sample.
"""

import importlib
import warnings
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from benchmarks._ranking import Drawn, drawn
from benchmarks.kit import (
    Bar,
    Benchmark,
    BenchResult,
    BenchRow,
    Quality,
    Scale,
    interleaved,
    load_average,
    machine,
    measured,
    median_percentile,
    require,
    require_peer,
    timed,
)
from lifehelper_data.domain.ports import Progress
from lifehelper_data.evaluation.metrics import ranking_metrics
from lifehelper_data.evaluation.statistics.counts import Floats
from lifehelper_data.evaluation.statistics.intervals import bootstrap_means

DEPTH: Final = 50
CUTS: Final = (10, DEPTH)
PEER_NAMES: Final = {  # ours -> ranx, ir-measures
    "recall": ("recall", "R"),
    "precision": ("precision", "P"),
    "hit": ("hit_rate", "Success"),
    "ndcg": ("ndcg", "nDCG"),
    "mrr": ("mrr", "RR"),
    "map": ("map", "AP"),
}
NAMES: Final = tuple(f"{name}@{k}" for name in PEER_NAMES for k in CUTS)
RESAMPLED: Final = 10  # metrics that are resampled together
EQUAL: Final = 1e-9
WIDTH: Final = 0.03
"""How far the width of a bootstrap interval may be from the normal one (Monte Carlo: 1 %)."""
RANX_AT_MOST: Final = Bar(of="ratio", at_most=0.2)
SECONDS_AT_MOST: Final = Bar(of="ours", at_most=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many users, users judged by ir-measures, resamples and rounds."""

    users: int
    sampled: int
    resamples: int
    rounds: int


SIZES: Final = {
    Scale.FULL: Size(users=100_000, sampled=5_000, resamples=10_000, rounds=5),
    Scale.QUICK: Size(users=1_000, sampled=200, resamples=1_000, rounds=1),
}


def run(scale: Scale, progress: Progress) -> BenchResult:
    """Measure all ranking metrics beside ranx, then the bootstrap of ten of them."""
    require_peer("ranx", "ranx", "metrics")
    require_peer("ir_measures", "ir-measures", "metrics")
    before = load_average()
    size = SIZES[scale]
    progress.step("users and lists", 0, None)
    made = drawn(size.users, DEPTH, seed=1)
    rows, quality, values = ranking(made, size, scale, progress)
    more, width = bootstrap(values, size, scale, progress)
    return BenchResult(
        rows=(*rows, *more),
        quality=(*quality, width),
        machine=machine(before),
        notes=(
            f"metrics: {', '.join(NAMES)}; median of {size.rounds} rounds, sides taking turns",
            "ranx uses all cores, our ranking metrics one, our bootstrap all",
            "objects are made before the clock starts; making them has its own row",
        ),
    )


def ranking(
    made: Drawn, size: Size, scale: Scale, progress: Progress
) -> tuple[list[BenchRow], list[Quality], dict[str, Floats]]:
    """Measure the metrics of every user, and making the objects that they are computed from."""
    ranx: Any = importlib.import_module("ranx")  # has no types, and may be absent

    def build(n_users: int) -> tuple[float, list[Any]]:
        relevance, lists = made.dicts(n_users)
        built: list[Any] = []
        seconds = timed(
            lambda: built.extend((ranx.Qrels.from_dict(relevance), ranx.Run.from_dict(lists)))
        )
        return seconds, built

    progress.step("ranx objects", 0, None)
    build(1)  # compiles
    their_building, built = build(size.users)
    our_building = timed(made.ours)
    rankings, relevant = made.ours()
    their_names = [f"{PEER_NAMES[name][0]}@{k}" for name in PEER_NAMES for k in CUTS]

    def theirs() -> dict[str, Any]:
        found: dict[str, Any] = ranx.evaluate(*built, their_names, return_mean=False)
        return found

    values = ranking_metrics(rankings, relevant, NAMES)
    progress.step("ranx compiles", 0, None)
    with warnings.catch_warnings():  # numba's word on ranx's own loop counters, while it compiles
        warnings.filterwarnings("ignore", message="unsafe cast from uint64 to int64")
        found_there = theirs()
    means = [float(values[name].mean()) for name in NAMES]
    quality = [
        require(
            f"means of {len(NAMES)} metrics, {size.users:,} users",
            f"{min(means):.3f} to {max(means):.3f}",
            "between 0.01 and 0.99: there is something to measure",
            holds=min(means) > 0.01 and max(means) < 0.99,
        ),
        _equal_values("ranx", values, _by_user(built[0], found_there, len(made.items))),
        _equal_values("ir-measures", values, _trec_eval(made, size.sampled)),
    ]
    found = interleaved(
        {
            "ours": lambda: [timed(lambda: ranking_metrics(rankings, relevant, NAMES))],
            "ranx": lambda: [timed(theirs)],
        },
        size.rounds,
        progress,
    )
    named = f"{size.users:,} users x {DEPTH}"
    rows = [
        measured(
            f"{len(NAMES)} ranking metrics per user, {named}", "s",
            median_percentile(found["ours"], 50), scale=scale,
            peer_name="ranx, warm", peer=median_percentile(found["ranx"], 50), bar=RANX_AT_MOST,
        ),
        measured(
            f"objects from arrays (ranx: from dicts), {named}", "s", our_building, scale=scale,
            peer_name="ranx", peer=their_building,
        ),
    ]  # fmt: skip
    return rows, quality, values


def bootstrap(
    values: dict[str, Floats], size: Size, scale: Scale, progress: Progress
) -> tuple[list[BenchRow], Quality]:
    """Measure the intervals of ten metrics, with users alone and in clusters of five."""
    matrix = np.column_stack([values[name] for name in NAMES[:RESAMPLED]])
    clusters = np.arange(size.users) // 5

    def intervals(by: Any) -> Any:
        return bootstrap_means(matrix, clusters=by, resamples=size.resamples, seed=1)

    errors = 2 * 1.959964 * matrix.std(axis=0, ddof=1) / np.sqrt(size.users)
    widths = np.array([found.high - found.low for found in intervals(None)])
    apart = float(np.abs(widths / errors - 1).max())
    allowed = WIDTH if scale is Scale.FULL else 0.15
    quality = require(
        f"largest relative difference of an interval's width from the normal one, "
        f"{size.users:,} users",
        apart,
        f"<= {allowed:g}",
        holds=apart <= allowed,
    )
    found = interleaved(
        {
            "alone": lambda: [timed(lambda: intervals(None))],
            "clusters": lambda: [timed(lambda: intervals(clusters))],
        },
        size.rounds,
        progress,
    )
    named = f"{size.resamples:,} resamples of {RESAMPLED} metrics of {size.users:,} users"
    return [
        measured(
            named, "s", median_percentile(found["alone"], 50), scale=scale, bar=SECONDS_AT_MOST
        ),
        measured(
            f"{named}, in clusters of five", "s", median_percentile(found["clusters"], 50),
            scale=scale, bar=SECONDS_AT_MOST,
        ),
    ], quality  # fmt: skip


def _by_user(qrels: Any, found: dict[str, Any], n_users: int) -> dict[str, Floats]:
    """Return ranx's values under our names in the order of users; ranx sorts its ids as texts."""
    at = np.array([int(user) for user in qrels.keys()])  # noqa: SIM118 - not a dict
    values = {}
    for name, (theirs, _) in PEER_NAMES.items():
        for k in CUTS:
            values[f"{name}@{k}"] = np.empty(n_users)
            values[f"{name}@{k}"][at] = found[f"{theirs}@{k}"]
    return values


def _trec_eval(made: Drawn, n_users: int) -> dict[str, Floats]:
    """Return ir-measures' values of the first users under our names."""
    ir: Any = importlib.import_module("ir_measures")
    names = {
        str(ir.parse_measure(f"{theirs}@{k}")): f"{name}@{k}"
        for name, (_, theirs) in PEER_NAMES.items()
        for k in CUTS
    }
    values = {name: np.full(n_users, np.nan) for name in names.values()}
    for one in ir.iter_calc([ir.parse_measure(name) for name in names], *made.dicts(n_users)):
        values[names[str(one.measure)]][int(one.query_id)] = one.value
    return values


def _equal_values(peer: str, ours: dict[str, Floats], theirs: dict[str, Floats]) -> Quality:
    n_users = len(theirs[NAMES[0]])
    apart = [float(np.abs(ours[name][:n_users] - theirs[name]).max()) for name in NAMES]
    largest = float("inf") if np.isnan(apart).any() else max(apart)
    return require(
        f"largest difference from {peer}, {len(NAMES)} metrics of {n_users:,} users",
        largest,
        f"<= {EQUAL:g}",
        holds=largest <= EQUAL,
    )


BENCHMARK: Final = Benchmark(
    name="metrics",
    question="What do ranking metrics of 100,000 users and their intervals cost?",
    bar="metrics <= 0.2x ranx with values equal to 1e-9; 10,000 resamples of 10 metrics <= 5 s",
    run=run,
)
