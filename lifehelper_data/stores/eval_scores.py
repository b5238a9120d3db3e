"""Scorings of a run: what a version of the scorer made of its outputs, one folder each."""

import json
import shutil
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from lifehelper_data.domain.errors import NotFound, Unavailable
from lifehelper_data.stores.atomic import sync_folder, write_json
from lifehelper_data.stores.eval_frames import read_rows, write_rows
from lifehelper_data.stores.eval_records import digest_of
from lifehelper_data.stores.eval_rows import MetricRow, ScoreRow, ScoringRecord
from lifehelper_data.stores.eval_runs import EvalRuns

SCORING_FILE = "scoring.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """A scoring with its rows.

    Attributes:
        record: which code made it.
        scores: one row per (system, unit, metric), ordered as they were made.
        metrics: one row per (system, metric, slice).
    """

    record: ScoringRecord
    scores: tuple[ScoreRow, ...]
    metrics: tuple[MetricRow, ...]


def rows_digest(scores: Sequence[ScoreRow], metrics: Sequence[MetricRow]) -> str:
    """Return the digest of all rows; floats are compared bit for bit."""
    return digest_of([[asdict(row) for row in scores], [asdict(row) for row in metrics]])


def scoring_numbers(runs: EvalRuns, run_id: str) -> list[int]:
    """Return the numbers of a run's scorings, ascending; none while it is running."""
    folder = runs.folder(run_id) / "scorings"
    names = (path.parent.name for path in folder.glob(f"*/{SCORING_FILE}"))
    return sorted(int(name) for name in names if name.isdecimal())


def load_scoring(runs: EvalRuns, run_id: str, number: int | None = None) -> Scoring:
    """Return a scoring of a run; without a number the newest.

    Raises:
        NotFound: the run has no such scoring.
        Unavailable: its files are not as they were written.
    """
    numbers = scoring_numbers(runs, run_id)
    if not numbers or (number is not None and number not in numbers):
        known = ", ".join(map(str, numbers)) or "none"
        raise NotFound(
            f"eval run {run_id!r} has no scoring {number or ''}".rstrip()
            + f" (scorings: {known}); finish it with `lifehelper eval run --resume {run_id}`",
            field="run",
        )
    folder = _folder(runs, run_id, numbers[-1] if number is None else number)
    try:
        value = json.loads((folder / SCORING_FILE).read_text(encoding="utf-8"))
        record = ScoringRecord.from_dict(value)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unavailable(
            f"{str(folder / SCORING_FILE)!r} cannot be read ({error}); run `lifehelper eval "
            f"rescore {run_id}` after deleting the folder"
        ) from error
    return Scoring(
        record=record,
        scores=tuple(read_rows([folder / "scores.parquet"], ScoreRow)),
        metrics=tuple(read_rows([folder / "metrics.parquet"], MetricRow)),
    )


def save_scoring(runs: EvalRuns, run_id: str, scoring: Scoring) -> Scoring:
    """Store a scoring beside the earlier ones; its number is set here.

    Where the newest one holds the same rows its record is replaced, and no folder is added.
    """
    numbers = scoring_numbers(runs, run_id)
    last = load_scoring(runs, run_id).record if numbers else None
    same = last is not None and last.rows_digest == scoring.record.rows_digest
    number = numbers[-1] if same else 1 + max(numbers, default=0)
    stored = replace(scoring, record=replace(scoring.record, number=number))
    target = _folder(runs, run_id, number)
    if same:
        write_json(target / SCORING_FILE, stored.record.to_dict())
        return stored
    target.parent.mkdir(exist_ok=True)
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    temporary.mkdir()
    try:
        write_rows(temporary / "scores.parquet", ScoreRow, stored.scores)
        write_rows(temporary / "metrics.parquet", MetricRow, stored.metrics)
        write_json(temporary / SCORING_FILE, stored.record.to_dict())
        temporary.replace(target)
        sync_folder(target.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return stored


def _folder(runs: EvalRuns, run_id: str, number: int) -> Path:
    return runs.folder(run_id) / "scorings" / f"{number:04d}"
