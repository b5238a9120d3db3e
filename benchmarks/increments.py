"""P7, books: a build must cost what changed, not what there is.

A made-up shop is built, built again unchanged, and built again five times with new titles for 1 %
of its books; every build is a process of its own, with the real analyser and encoder. Before a
time is printed: exactly the changed texts were analysed and embedded, vectors of all others kept
their bits, and a fresh build of the last state has the same identities.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from benchmarks._process import run_worker
from benchmarks._shop import Shop
from benchmarks.kit import (
    Bar,
    Benchmark,
    BenchResult,
    BenchRow,
    Quality,
    Scale,
    load_average,
    machine,
    measured,
    require,
)
from lifehelper_data.domain.ports import Progress
from lifehelper_data.pipelines.build_embeddings import ASSET, BOOKS
from lifehelper_data.stores.build_records import require_record
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.vector_artifact import open_vectors

CHANGED_SHARE: Final = 0.01
REBUILD_AT_MOST: Final = Bar(of="ratio", at_most=0.05)
UNCHANGED_AT_MOST: Final = Bar(of="ours", at_most=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large the shop is, and how often it is built."""

    books: int
    described: int
    rounds: int


SIZES: Final = {
    Scale.FULL: Size(books=20_000, described=3_000, rounds=5),
    Scale.QUICK: Size(books=300, described=60, rounds=1),
}


def run(scale: Scale, progress: Progress) -> BenchResult:
    """Measure full, unchanged and 1 % builds."""
    before = load_average()
    size = SIZES[scale]
    with tempfile.TemporaryDirectory() as name:
        builds = _Builds(folder=Path(name), progress=progress, total=3 + 2 * size.rounds)
        shop = Shop.of_size(size.books, size.described, seed=1)
        full = [builds.run("incremental", shop)]
        builds.run("incremental", shop)  # warm-up
        unchanged = [builds.run("incremental", shop) for _ in range(size.rounds)]
        quality = [_nothing_done(unchanged)]
        rebuilt = []
        for at in range(1, size.rounds + 1):
            old = _vectors(builds.folder / "incremental")
            shop, chosen = shop.changed(round(size.books * CHANGED_SHARE), seed=at)
            rebuilt.append(builds.run("incremental", shop))
            now = _vectors(builds.folder / "incremental")
            quality.append(
                _only_changed(rebuilt[-1], at=at, chosen=chosen, shop=shop, old=old, now=now)
            )
        full.append(builds.run("fresh", shop))
        quality.append(_same_identities(rebuilt[-1]["identities"], full[1]["identities"]))
    whole = median(build["inside_s"] for build in full)
    named = f"{size.books:,} books, {size.described:,} described"
    rows = [
        measured(f"full build of {named}", "s", whole, scale=scale),
        measured(
            f"build with {CHANGED_SHARE:.0%} new titles",
            "s",
            median(build["inside_s"] for build in rebuilt),
            scale=scale,
            peer_name="full build",
            peer=whole,
            bound=whole * CHANGED_SHARE,
            bar=REBUILD_AT_MOST,
        ),
        measured(
            "build with nothing changed",
            "s",
            median(build["inside_s"] for build in unchanged),
            scale=scale,
            peer_name="full build",
            peer=whole,
            bar=UNCHANGED_AT_MOST,
        ),
        *_by_asset(full, rebuilt, scale),
    ]
    return BenchResult(
        rows=tuple(rows),
        quality=tuple(quality),
        machine=machine(before),
        notes=(
            "seconds inside the process, imports and loading of analyser and encoder included; "
            f"full: middle of 2 builds, others: median of {size.rounds}",
            "bound: the changed share of the full build",
            f"fastest to slowest: full {_spread(full)}, 1 % {_spread(rebuilt)}, "
            f"nothing changed {_spread(unchanged)}",
        ),
    )


class _Builds:
    """Builds shops in workspaces below a folder, each build in a process of its own."""

    def __init__(self, folder: Path, progress: Progress, total: int) -> None:
        self.folder = folder
        self._progress = progress
        self._total = total
        self._done = 0

    def run(self, workspace: str, shop: Shop) -> Any:
        """Build a workspace of a shop; return what the worker says."""
        self._progress.step("builds", self._done, self._total)
        self._done += 1
        return run_worker("build", self.folder / workspace, shop.write(self.folder / "shop"))


Rows = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]


def _vectors(workspace: Path) -> Rows:
    """Return ids and vectors of the books, copied, by ascending id."""
    layout = Layout(workspace)
    snapshot = open_vectors(layout, require_record(layout, ASSET).artifacts[BOOKS])
    order = np.argsort(snapshot.item_ids)
    return snapshot.item_ids[order].copy(), np.array(snapshot.vectors)[order]


def _nothing_done(builds: Sequence[Mapping[str, Any]]) -> Quality:
    texts = sum(sum(build["embedded"].values()) for build in builds)
    texts += sum(sum(build["analysed"].values()) for build in builds)
    published = sum(build["published"] for build in builds)
    return require(
        "nothing changed: texts embedded or analysed, releases published",
        f"{texts}, {published}",
        "0, 0",
        holds=texts == published == 0,
    )


def _only_changed(
    build: Mapping[str, Any], *, at: int, chosen: frozenset[int], shop: Shop, old: Rows, now: Rows
) -> Quality:
    """Require that the changed texts, and no others, were analysed, embedded and have new bits."""
    expected = sorted(chosen & set(shop.descriptions))
    same_ids = np.array_equal(old[0], now[0])
    moved = now[0][(old[1] != now[1]).any(axis=1)].tolist() if same_ids else []
    found = (build["analysed"].get("keyword_index"), build["embedded"].get("books", 0), len(moved))
    wanted = (len(chosen), len(expected), len(expected))
    return require(
        f"change {at}: texts analysed, texts embedded, vectors that differ",
        ", ".join(map(str, found)),
        ", ".join(map(str, wanted)) + ", those of the changed books",
        holds=found == wanted and moved == expected,
    )


def _same_identities(stepped: Mapping[str, str], fresh: Mapping[str, str]) -> Quality:
    differ = sorted(n for n in stepped.keys() | fresh.keys() if stepped.get(n) != fresh.get(n))
    return require(
        f"of {len(fresh)} tables and artifacts, identities that differ from a fresh build",
        ", ".join(differ) or "none",
        "none",
        holds=not differ,
    )


def _spread(builds: Sequence[Mapping[str, Any]]) -> str:
    taken = [build["inside_s"] for build in builds]
    return f"{min(taken):.2f}-{max(taken):.2f} s"


def _by_asset(
    full: Sequence[Mapping[str, Any]], rebuilt: Sequence[Mapping[str, Any]], scale: Scale
) -> list[BenchRow]:
    """Return a row per asset, and one for what lies outside the assets."""

    def seconds(builds: Sequence[Mapping[str, Any]], asset: str) -> float:
        return float(median(build["asset_s"][asset] for build in builds))

    def outside(builds: Sequence[Mapping[str, Any]]) -> float:
        return float(median(b["inside_s"] - sum(b["asset_s"].values()) for b in builds))

    figures = {
        asset: (seconds(rebuilt, asset), seconds(full, asset)) for asset in full[0]["asset_s"]
    }
    figures["release, checks, imports"] = (outside(rebuilt), outside(full))
    figures["loading the encoder (in embeddings), the same at any size"] = (
        float(median(build["loading_s"] for build in rebuilt)),
        float(median(build["loading_s"] for build in full)),
    )
    return [
        measured(f"of which {name}", "s", ours, scale=scale, peer_name="full build", peer=peer)
        for name, (ours, peer) in figures.items()
    ]


BENCHMARK: Final = Benchmark(
    name="increments",
    question="Does a build cost what changed, not what there is?",
    bar="1 % of books changed: <= 5 % of the full time; nothing changed: 0 texts embedded, <= 3 s",
    run=run,
)
