"""The last output of each asset, as JSON in the workspace.

A step of a scheduled run leaves its output twice: as the asset's last one, and under the run. The
steps after it read the run's own first, so that runs that overlap do not mix.
"""

import dataclasses
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from lifehelper_data.domain.build import BuildRecord
from lifehelper_data.domain.counts import FileCounts, TableCounts
from lifehelper_data.domain.errors import NotFound
from lifehelper_data.domain.identity import RowsHash
from lifehelper_data.domain.release import (
    Artifact,
    ArtifactFile,
    ArtifactKind,
    Part,
    TableParts,
)
from lifehelper_data.stores.atomic import write_json
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.part_check import size_problem


def save_record(layout: Layout, record: BuildRecord) -> None:
    """Keep a record as the asset's last output."""
    _save_for_run(layout, record)
    write_json(layout.builds / f"{record.asset}.json", _value(record))


def load_record(layout: Layout, asset: str) -> BuildRecord | None:
    """Return the asset's last output; None if there is none or it cannot be read.

    Within a run, what the run itself made comes first.
    """
    own = None if layout.run is None else _load(layout.runs / layout.run / f"{asset}.json")
    return own or _load(layout.builds / f"{asset}.json")


def recorded_outputs(layout: Layout) -> Iterator[BuildRecord]:
    """Yield every output that a later step or build may still use: last ones and those of runs."""
    for path in sorted([*layout.builds.glob("*.json"), *layout.runs.glob("*/*.json")]):
        record = _load(path)
        if record is not None:
            yield record


def require_record(layout: Layout, asset: str) -> BuildRecord:
    """Return the asset's last output.

    Raises:
        NotFound: it was never built here, or parts of it are gone.
    """
    record = load_record(layout, asset)
    if record is None:
        raise NotFound(f"asset {asset!r} has not been built here; run `lifehelper build`")
    gone = missing_parts(layout, record)
    if gone:
        raise NotFound(f"part {gone[0]!r} of asset {asset!r} is gone; run `lifehelper build`")
    return record


def reusable_record(layout: Layout, asset: str, input_digest: str) -> BuildRecord | None:
    """Return the last output if it came from the same inputs and all its parts are there.

    Within a run it becomes the run's own: a step that had nothing to do made it, too. gc counts
    the age of its files from now: another build may replace the last output before this one is
    published.
    """
    record = load_record(layout, asset)
    if record is None or record.input_digest != input_digest:
        return None
    _save_for_run(layout, record)
    with suppress(FileNotFoundError):  # it is missing, then
        for file in _stored(record):
            os.utime(layout.root / file.path)
    return None if missing_parts(layout, record) else record


def _save_for_run(layout: Layout, record: BuildRecord) -> None:
    if layout.run is not None:
        folder = layout.runs / layout.run
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / f"{record.asset}.json", _value(record))


def _value(record: BuildRecord) -> dict[str, Any]:
    return {**dataclasses.asdict(record), "built_at": record.built_at.isoformat()}


def _load(path: Path) -> BuildRecord | None:
    try:
        return _record(json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None  # a record is a cache: without it the asset is built again


def _record(value: dict[str, Any]) -> BuildRecord:
    return BuildRecord(
        asset=value["asset"],
        input_digest=value["input_digest"],
        built_at=datetime.fromisoformat(value["built_at"]),
        tables={name: _table(table) for name, table in value["tables"].items()},
        artifacts={name: _artifact(a) for name, a in value["artifacts"].items()},
        files=tuple(FileCounts(**file) for file in value["files"]),
        table_counts={
            name: TableCounts(**{**counts, "ignored_columns": tuple(counts["ignored_columns"])})
            for name, counts in value["table_counts"].items()
        },
        facts=value["facts"],
    )


def _artifact(value: dict[str, Any]) -> Artifact:
    return Artifact(
        **{
            **value,
            "kind": ArtifactKind(value["kind"]),
            "files": tuple(ArtifactFile(**file) for file in value["files"]),
        }
    )


def _table(value: dict[str, Any]) -> TableParts:
    return TableParts(
        table=value["table"],
        identity=value["identity"],
        rows=value["rows"],
        parts=tuple(
            Part(
                **{
                    **part,
                    "rows_hash": RowsHash.of_sums(
                        part["rows_hash"]["rows"], part["rows_hash"]["lanes"]
                    ),
                }
            )
            for part in value["parts"]
        ),
    )


def missing_parts(layout: Layout, record: BuildRecord) -> list[str]:
    """Return the paths of files of a record that are not on disk in their recorded size."""
    return [file.path for file in _stored(record) if size_problem(layout.root, file) is not None]


def _stored(record: BuildRecord) -> list[Part | ArtifactFile]:
    parts = [part for table in record.tables.values() for part in table.parts]
    files = [file for artifact in record.artifacts.values() for file in artifact.files]
    return [*parts, *files]
