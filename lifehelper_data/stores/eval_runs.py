"""Evaluation runs on disk.

    eval/<run_id>/run.json               head: pins, status, counts
                  cases.parquet          one row per case
                  outputs/000000.parquet chunks of outputs, in the order they were generated
                  scorings/0001/         scores.parquet, metrics.parquet, scoring.json

Every file is whole or absent, and a chunk is named by the number of rows before it, so a killed
run leaves complete chunks and no row twice. One process at a time writes a run (an advisory lock,
which the system frees when its owner dies).
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

import polars as pl

from lifehelper_data.domain.errors import InvalidRequest, NotFound, Unavailable, WorkspaceLocked
from lifehelper_data.domain.ports import Clock
from lifehelper_data.stores.atomic import write_json
from lifehelper_data.stores.eval_frames import read_rows, write_rows
from lifehelper_data.stores.eval_records import RunRecord, RunStatus
from lifehelper_data.stores.eval_rows import CaseRow, OutputRow
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.locks import flocked

NewRunId = Callable[[datetime], str]
"""Returns an id for a run that begins at a time; ids sort by time."""

LATEST: Final = "latest"
RUN_FILE: Final = "run.json"


class EvalRuns:
    """The evaluation runs of one workspace.

    Attributes:
        layout: where they lie.
        clock: current time.
        new_run_id: makes ids.
    """

    def __init__(self, layout: Layout, clock: Clock, new_run_id: NewRunId) -> None:
        self.layout = layout
        self.clock = clock
        self._new_run_id = new_run_id

    def folder(self, run_id: str) -> Path:
        """Return the folder of a run."""
        return self.layout.eval / run_id

    def run_ids(self) -> list[str]:
        """Return the ids of all runs, oldest first."""
        return sorted(path.parent.name for path in self.layout.eval.glob(f"*/{RUN_FILE}"))

    def load(self, run_id: str) -> RunRecord:
        """Return the head of a run.

        Raises:
            NotFound: there is no such run.
            Unavailable: its head cannot be read.
            FormatVersionError: another version of this package wrote it.
        """
        path = self.folder(run_id) / RUN_FILE
        try:
            return RunRecord.from_dict(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError as error:
            raise self._not_found(run_id) from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Unavailable(
                f"the head of eval run {run_id!r} cannot be read ({error}); restore or delete "
                f"{str(path.parent)!r}",
                field="run",
            ) from error

    def records(self) -> list[RunRecord]:
        """Return all runs, oldest first."""
        return [self.load(run_id) for run_id in self.run_ids()]

    def resolve(self, ref: str) -> str:
        """Return the id of the run that a reference means.

        Args:
            ref: an id, `latest`, a label (of several runs the newest), or the beginning of one id.

        Raises:
            NotFound: no run is called that.
            InvalidRequest: several ids begin so.
        """
        ids = self.run_ids()
        if ref in ids:
            return ref
        if ref == LATEST and ids:
            return ids[-1]
        labelled = [record.run_id for record in self.records() if record.label == ref]
        if labelled:
            return labelled[-1]
        begun = [run_id for run_id in ids if ref and run_id.startswith(ref)]
        if len(begun) > 1:
            raise InvalidRequest(
                f"run {ref!r} means {len(begun)} runs: {', '.join(begun[:5])}; write more of it",
                field="run",
            )
        if not begun:
            raise self._not_found(ref)
        return begun[0]

    def unfinished(self, pins_digest: str) -> RunRecord | None:
        """Return the newest run of these pins that is not complete; None without one."""
        same = [
            record
            for record in self.records()
            if record.status is not RunStatus.COMPLETE and record.pins.digest == pins_digest
        ]
        return same[-1] if same else None

    def create(self, record: RunRecord, cases: Sequence[CaseRow]) -> RunRecord:
        """Store a new run without outputs.

        Args:
            record: its head; `run_id` and `created_at` are set here.
            cases: its cases, `seq` ascending from 0.
        """
        now = self.clock()
        record = replace(record, run_id=self._new_run_id(now), created_at=now)
        folder = self.folder(record.run_id)
        (folder / "outputs").mkdir(parents=True)
        write_rows(folder / "cases.parquet", CaseRow, cases)
        self.save(record)  # last: a folder without a head is no run
        return record

    def save(self, record: RunRecord) -> None:
        """Replace the head of a run."""
        write_json(self.folder(record.run_id) / RUN_FILE, record.to_dict())

    @contextmanager
    def writing(self, run_id: str) -> Iterator[None]:
        """Be the only process that writes a run.

        Raises:
            WorkspaceLocked: another process is at it.
        """
        try:
            with flocked(self.folder(run_id) / ".lock", wait=False):
                yield
        except BlockingIOError as error:
            raise WorkspaceLocked(
                f"eval run {run_id!r} is being written by another process; wait for it, or choose "
                "another configuration, release or seed"
            ) from error

    def append(self, run_id: str, rows: Sequence[OutputRow]) -> None:
        """Write a chunk of outputs. The caller is the run's only writer."""
        if rows:
            chunks = self.chunks(run_id)
            start = 0 if not chunks else int(chunks[-1].stem) + _height(chunks[-1])
            write_rows(self.folder(run_id) / "outputs" / f"{start:06d}.parquet", OutputRow, rows)

    def cases(self, run_id: str) -> list[CaseRow]:
        """Return the cases of a run, `seq` ascending."""
        return read_rows([self.folder(run_id) / "cases.parquet"], CaseRow)

    def outputs(self, run_id: str) -> list[OutputRow]:
        """Return the outputs of a run in the order they were generated."""
        return read_rows(self.chunks(run_id), OutputRow)

    def chunks(self, run_id: str) -> list[Path]:
        """Return the files of outputs in the order they were written."""
        folder = self.folder(run_id) / "outputs"
        return sorted(folder.glob("*.parquet"), key=lambda path: int(path.stem))

    def _not_found(self, ref: str) -> NotFound:
        ids = self.run_ids()
        known = ", ".join(ids[-5:]) or "none; make one with `lifehelper eval run search`"
        return NotFound(f"no eval run {ref!r}; newest: {known}", field="run")


def releases_of_runs(layout: Layout) -> dict[int, str]:
    """Return the releases that runs name, each with the newest run that names it.

    Raises:
        Unavailable: the head of a run cannot be read, so its release is unknown.
    """
    runs = EvalRuns(layout, _no_clock, _no_ids)
    return {
        record.pins.release.number: record.run_id
        for record in runs.records()
        if record.pins.release is not None
    }


def _no_clock() -> datetime:
    raise AssertionError("reading runs asks for no time")


def _no_ids(_: datetime) -> str:
    raise AssertionError("reading runs makes no id")


def _height(path: Path) -> int:
    return int(pl.scan_parquet(path).select(pl.len()).collect().item())
