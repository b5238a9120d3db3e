"""Stored runs for analysts: frames of one run, and SQL over all of them."""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Final

import duckdb
import polars as pl

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.stores.atomic import replace_file
from lifehelper_data.stores.duck import connect_memory, lock_down, parquet_scan, quote_text
from lifehelper_data.stores.eval_frames import read_frame, to_frame
from lifehelper_data.stores.eval_records import RunRecord
from lifehelper_data.stores.eval_rows import CaseRow, MetricRow, OutputRow, ScoreRow
from lifehelper_data.stores.eval_runs import EvalRuns
from lifehelper_data.stores.eval_scores import scoring_numbers

TABLES: dict[str, type] = {
    "eval_cases": CaseRow,
    "eval_outputs": OutputRow,
    "eval_scores": ScoreRow,
    "eval_metrics": MetricRow,
}
"""Tables that SQL sees beside `eval_runs`; each has the run's id in front."""


def run_frames(runs: EvalRuns, run_id: str) -> dict[str, pl.DataFrame]:
    """Return a run's tables as frames: eval_cases, eval_outputs, eval_scores, eval_metrics.

    Scores and metrics are those of the newest scoring; empty before there is one.

    Raises:
        NotFound: there is no such run.
        Unavailable: a file of it cannot be read.
    """
    runs.load(run_id)
    return {name: read_frame(_paths(runs, run_id)[name], kind) for name, kind in TABLES.items()}


def query_runs(runs: EvalRuns, query: str) -> pl.DataFrame:
    """Run one SELECT over all runs.

    Tables: `eval_runs` (one row per run) and those of `run_frames`, with `run_id` in front.
    Nothing else can be read, and nothing can be written.

    Raises:
        InvalidRequest: not exactly one SELECT, or DuckDB refuses it.
    """
    paths = {run_id: _paths(runs, run_id) for run_id in runs.run_ids()}
    heads = _heads(runs.records())
    with connect_memory() as connection:
        connection.register("eval_heads", heads)
        connection.execute("CREATE TABLE eval_runs AS SELECT * FROM eval_heads")
        connection.unregister("eval_heads")
        for name, kind in TABLES.items():
            connection.register("eval_empty", to_frame(kind, []))
            connection.execute(
                f"CREATE TABLE {name}_none AS SELECT ''::VARCHAR AS run_id, * FROM eval_empty"
            )
            connection.unregister("eval_empty")
            selects = [f"SELECT * FROM {name}_none"]
            selects += [
                f"SELECT {quote_text(run_id)} AS run_id, * FROM {parquet_scan(found[name])}"
                for run_id, found in paths.items()
                if found[name]
            ]
            connection.execute(f"CREATE VIEW {name} AS {' UNION ALL BY NAME '.join(selects)}")
        readable = [path for found in paths.values() for each in found.values() for path in each]
        lock_down(connection, readable=readable, temporary=runs.layout.tmp)
        return _answer(connection, query)


def _paths(runs: EvalRuns, run_id: str) -> dict[str, list[Path]]:
    folder = runs.folder(run_id)
    numbers = scoring_numbers(runs, run_id)
    scoring = folder / "scorings" / f"{numbers[-1]:04d}" if numbers else None
    return {
        "eval_cases": [folder / "cases.parquet"],
        "eval_outputs": runs.chunks(run_id),
        "eval_scores": [] if scoring is None else [scoring / "scores.parquet"],
        "eval_metrics": [] if scoring is None else [scoring / "metrics.parquet"],
    }


def _heads(records: list[RunRecord]) -> pl.DataFrame:
    columns: dict[str, tuple[pl.DataType, Callable[[RunRecord], object]]] = {
        "run_id": (pl.String(), lambda r: r.run_id),
        "suite": (pl.String(), lambda r: r.pins.suite),
        "label": (pl.String(), lambda r: r.label),
        "status": (pl.String(), lambda r: str(r.status)),
        "created_at": (pl.Datetime("us", "UTC"), lambda r: r.created_at),
        "finished_at": (pl.Datetime("us", "UTC"), lambda r: r.finished_at),
        "release": (pl.Int64(), lambda r: r.pins.release and r.pins.release.number),
        "code_version": (pl.String(), lambda r: r.pins.code_version),
        "provider": (pl.String(), lambda r: r.pins.provider),
        "model": (pl.String(), lambda r: r.pins.model),
        "seed": (pl.Int64(), lambda r: r.pins.seed),
        "cases": (pl.Int64(), lambda r: r.cases),
        "data": (pl.String(), lambda r: str(r.facts["data"])),
        "pins_digest": (pl.String(), lambda r: r.pins.digest),
    }
    return pl.DataFrame(
        {name: [read(record) for record in records] for name, (_, read) in columns.items()},
        schema={name: dtype for name, (dtype, _) in columns.items()},
    )


def _answer(connection: duckdb.DuckDBPyConnection, query: str) -> pl.DataFrame:
    try:
        statements = connection.extract_statements(query)
        if len(statements) != 1 or statements[0].type.name != "SELECT":
            kinds = ", ".join(s.type.name for s in statements) or "nothing"
            raise InvalidRequest(f"expected one SELECT, got {kinds}; runs are read-only")
        frame: pl.DataFrame = connection.sql(statements[0].query).pl()
        return frame
    except duckdb.Error as error:
        raise InvalidRequest(" ".join(str(error).split()), field="query") from error


def write_frame(frame: pl.DataFrame, path: Path) -> None:
    """Write rows to a Parquet, CSV or JSON-lines file by its ending; it is whole or absent.

    Raises:
        InvalidRequest: the ending is none of these, or the folder does not exist.
    """
    if path.suffix not in _WRITERS:
        raise InvalidRequest(
            f"cannot tell the format of {path.name!r}; end it in {', '.join(_WRITERS)}",
            field="out",
        )
    if not path.parent.is_dir():
        raise InvalidRequest(f"no folder {str(path.parent)!r}; create it first", field="out")
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        _WRITERS[path.suffix](frame, temporary)
        replace_file(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


_WRITERS: Final[dict[str, Callable[[pl.DataFrame, Path], object]]] = {
    ".parquet": lambda frame, path: frame.write_parquet(path, compression="zstd"),
    ".csv": lambda frame, path: frame.write_csv(path),
    ".jsonl": lambda frame, path: frame.write_ndjson(path),
}
