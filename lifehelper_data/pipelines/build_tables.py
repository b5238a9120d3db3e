"""Asset `tables`: outside rows become clean contract tables, every one accounted for."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from lifehelper_data.domain.build import BuildRecord, BuildReport
from lifehelper_data.domain.contract import (
    CONTRACT_VERSION,
    HISTORY_TABLES,
    QUARANTINE,
    REJECTS,
    SOURCE_IDS,
    TABLES,
    Table,
)
from lifehelper_data.domain.counts import FileCounts, TableCounts
from lifehelper_data.domain.errors import LoadRefused, MappingError
from lifehelper_data.domain.release import TableParts
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.pipelines.source_changes import (
    as_contract_violation,
    refuse_vanished_columns,
    source_shape,
)
from lifehelper_data.sources.casting import CastRules
from lifehelper_data.sources.load import BoundSelect, SourceReader, source_digest
from lifehelper_data.stores.build_records import load_record, reusable_record, save_record
from lifehelper_data.stores.load_times import save_load_times
from lifehelper_data.stores.parts import PartWriter
from lifehelper_data.stores.replica import hold_replicas, keep_replicas

ASSET: Final = "tables"
BUILDER_VERSION: Final = 1
"""Raised whenever the same rows would give other tables."""


def build_tables(
    context: BuildContext,
    source: Path,
    *,
    full_read: bool = False,
    environment: Mapping[str, str] | None = None,
) -> BuildReport:
    """Load every table a mapping file names.

    Nothing is loaded again if neither the rows nor the mapping nor a tunable it reads changed
    (a load that quarantined rows for lying in the future is always repeated: they may be due).
    Tables that a database delivers are read each time to find out; those with `incremental` only
    in their newer rows.

    Args:
        context: workspace, settings, clock and progress.
        source: the mapping file.
        full_read: read tables with `incremental` in full: finds deletions and rows that came later
            than their look-back.
        environment: where the address of a database is looked up; default: the process's.

    Returns:
        The record with one TableParts per contract table (absent ones empty), and `quarantine`,
        `rejects` and `source_ids`. Its fact `reads` says of each mapped table how it was read
        this time, also if the rest of the record is an earlier load's.

    Raises:
        MappingError, UnsafeSql, SourceError, NotFound: the source is not what it should be.
        Unavailable: the database cannot be reached, or went away; nothing of this load is used.
        ContractViolation: columns that the mapping uses have gone since the last load.
        LoadRefused: too much of a table or file is bad; nothing of this load is used.
        IdCollision: two text ids share a number.
    """
    started = context.seconds()
    variables = os.environ if environment is None else environment
    with context.scratch() as scratch, _reader(context, source, scratch) as reader:
        _read_database(context, reader, scratch / "held", variables, full_read=full_read)
        digest = _input_digest(context, source, reader)
        last = reusable_record(context.layout, ASSET, digest)
        reused = last is not None and not last.facts["future_rows"]
        if last is not None and reused:
            record = replace(last, facts={**last.facts, "reads": _reads(reader, last.table_counts)})
        else:
            record = _built(context, reader, scratch, digest)
            save_record(context.layout, record)
        fresh = {name: r.replica for name, r in reader.reads.items() if r.replica is not None}
        keep_replicas(context.layout, fresh, reader.mapping.queries)
    watermarks = record.facts["source_watermarks"]
    known = watermarks if isinstance(watermarks, dict) else {}
    save_load_times(
        context.layout, context.clock(), {name: known.get(name) for name in record.table_counts}
    )
    return BuildReport(record=record, reused=reused, seconds=context.seconds() - started)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    counts: Mapping[str, TableCounts]
    watermarks: Mapping[str, str | None]
    future_rows: int


def _reader(context: BuildContext, source: Path, scratch: Path) -> SourceReader:
    return SourceReader(
        source,
        scratch,
        memory_limit=context.settings.run.memory_limit,
        progress=context.progress,
    )


def _read_database(
    context: BuildContext,
    reader: SourceReader,
    folder: Path,
    environment: Mapping[str, str],
    *,
    full_read: bool,
) -> None:
    if not reader.mapping.queries:
        return
    held = hold_replicas(context.layout, reader.mapping.queries, folder)
    try:
        reader.read_database(environment, held, full_read=full_read)
    except MappingError as error:
        last = load_record(context.layout, ASSET)
        raise as_contract_violation(last, reader, error) from error


def _input_digest(context: BuildContext, source: Path, reader: SourceReader) -> str:
    parts = {
        "source": source_digest(source, context.progress),
        "queries": {
            name: [read.digest, *read.delivered.ignored] for name, read in reader.reads.items()
        },
        "contract": CONTRACT_VERSION,
        "builder": BUILDER_VERSION,
        "load": context.settings.load.model_dump(mode="json"),
        "history_buckets": context.settings.run.history_buckets,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _built(context: BuildContext, reader: SourceReader, scratch: Path, digest: str) -> BuildRecord:
    last = load_record(context.layout, ASSET)
    try:
        reader.open()
    except MappingError as error:
        raise as_contract_violation(last, reader, error) from error
    refuse_vanished_columns(last, reader)
    with context.part_writer(scratch, ASSET) as writer:
        loaded = _load(context, reader, writer)
        problems = _too_bad(reader.files, loaded.counts, context.settings.load.max_bad_share)
        if problems:
            raise _refusal(context, writer, problems)
        context.progress.step("writing tables", 0, None)
        return BuildRecord(
            asset=ASSET,
            input_digest=digest,
            built_at=context.clock(),
            tables=_write(context, writer),
            files=reader.files,
            table_counts=loaded.counts,
            facts={
                "future_rows": loaded.future_rows,
                "source_watermarks": loaded.watermarks,
                "reads": _reads(reader, loaded.counts),
                **source_shape(reader),
                "naive_timezone": reader.mapping.naive_timezone,
                "text": reader.mapping.text,
                "text_ids": sorted(reader.mapping.text_ids),
            },
        )


def _reads(reader: SourceReader, counts: Mapping[str, TableCounts]) -> dict[str, object]:
    """Say of every mapped table how it was read."""
    return {
        name: {"mode": read.mode, "rows_read": read.rows_read, "since": read.since}
        if (read := reader.reads.get(name))
        else {"mode": "files", "rows_read": count.returned, "since": None}
        for name, count in counts.items()
    }


def _load(context: BuildContext, reader: SourceReader, writer: PartWriter) -> _Loaded:
    rules = CastRules(
        now=context.clock(),
        naive_timezone=reader.mapping.naive_timezone,
        text_ids=frozenset(reader.mapping.text_ids),
    )
    counts: dict[str, TableCounts] = {}
    future = 0
    for select in reader.tables:
        counts[select.table.name], due_later = _load_table(reader, writer, select, rules)
        future += due_later
    for frame in reader.rejects():
        writer.append(REJECTS, frame)
    writer.settle(SOURCE_IDS)
    writer.check_source_ids()
    watermarks: dict[str, str | None] = {}
    unordered = {select.table.name for select in reader.tables if not select.ordered}
    for table in TABLES.values():
        context.progress.step(f"settling {table.name}", 0, None)
        settled = writer.settle(table, ordered=table.name not in unordered)
        latest = writer.latest(table)
        watermarks[table.name] = latest.isoformat() if latest else None
        if table.name in counts:
            before = counts[table.name]
            counts[table.name] = TableCounts(
                table=table.name,
                returned=before.returned,
                quarantined=before.quarantined,
                bad_columns=before.bad_columns,
                ignored_columns=before.ignored_columns,
                kept=settled.kept,
                repeated=settled.repeated,
                duplicates=settled.duplicates,
                orphans=writer.orphans(table) if table.name in HISTORY_TABLES else 0,
            )
    return _Loaded(counts=counts, watermarks=watermarks, future_rows=future)


def _load_table(
    reader: SourceReader, writer: PartWriter, select: BoundSelect, rules: CastRules
) -> tuple[TableCounts, int]:
    bad_columns: dict[str, int] = {}
    future = 0
    for batch in reader.rows(select, rules):
        writer.append(select.table, batch.good)
        writer.append(QUARANTINE, batch.bad)
        writer.append(SOURCE_IDS, batch.source_ids)
        for column in batch.bad["column_name"].to_list():
            bad_columns[column] = bad_columns.get(column, 0) + 1
        future += batch.future
    counts = TableCounts(
        table=select.table.name,
        returned=reader.returned(select),
        quarantined=sum(bad_columns.values()),
        bad_columns=dict(sorted(bad_columns.items())),
        ignored_columns=select.ignored_columns,
    )
    return counts, future


def _write(context: BuildContext, writer: PartWriter) -> dict[str, TableParts]:
    buckets = context.settings.run.history_buckets
    tables: list[Table] = [*TABLES.values(), QUARANTINE, REJECTS, SOURCE_IDS]
    written: dict[str, TableParts] = {}
    for done, table in enumerate(tables, 1):
        written[table.name] = writer.write(table, buckets=buckets)
        context.progress.step("writing tables", done, len(tables))
    return written


def _too_bad(
    files: tuple[FileCounts, ...], counts: Mapping[str, TableCounts], limit: float
) -> list[str]:
    problems = [
        f"file {file.path!r}: {file.rejected:,} of {file.lines:,} lines cannot be read "
        f"({', '.join(f'{reason} {n:,}' for reason, n in file.reasons.items())})"
        + ("; is its declared encoding right?" if "broken_encoding" in file.reasons else "")
        for file in files
        if file.lines and file.rejected / file.lines > limit
    ]
    problems += [
        f"table {name!r}: {count.quarantined:,} of {count.returned:,} rows have a bad value "
        f"({', '.join(f'{column} {n:,}' for column, n in count.bad_columns.items())})"
        + (
            "; ids that are text must be named in text_ids"
            if {"book_id", "user_id"} & set(count.bad_columns)
            else ""
        )
        for name, count in counts.items()
        if count.bad_share is not None and count.bad_share > limit
    ]
    return problems


def _refusal(context: BuildContext, writer: PartWriter, problems: list[str]) -> LoadRefused:
    folder = context.layout.refused
    folder.mkdir(parents=True, exist_ok=True)
    for table in (QUARANTINE, REJECTS):
        writer.export(table, folder / f"{table.name}.parquet")
    limit = context.settings.load.max_bad_share
    return LoadRefused(
        f"more than {limit:.1%} bad: {'; '.join(problems)}; the last release stays in service; "
        f"look at quarantine.parquet and rejects.parquet in {str(folder)!r}, mend the source "
        "or its mapping, or raise load.max_bad_share"
    )
