"""Reading a release file back: lossless, of every format version this package knows."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from lifehelper_data.domain.counts import FileCounts, TableCounts
from lifehelper_data.domain.errors import FormatVersionError, Unavailable
from lifehelper_data.domain.identity import RowsHash
from lifehelper_data.domain.release import (
    FORMAT_VERSION,
    Artifact,
    ArtifactFile,
    ArtifactKind,
    Part,
    Release,
    ReleaseContent,
    ReleaseState,
    TableParts,
)
from lifehelper_data.stores.duck import connect_fresh
from lifehelper_data.stores.release_schema import RESERVED_FACTS


def read_release(path: Path) -> Release:
    """Read a release file as it is on disk now.

    Raises:
        FormatVersionError: a newer package wrote it.
        Unavailable: it is missing, damaged or no release file.
    """
    return read_release_and_root(path)[0]


def read_release_and_root(path: Path) -> tuple[Release, Path]:
    """Read a release file and the workspace folder its views point into."""
    with unavailable_if_unreadable(path), connect_fresh(path) as connection:
        facts = {
            str(key): json.loads(value)
            for key, value in connection.execute("SELECT key, value FROM release_facts").fetchall()
        }
        _check_version(path, facts["format_version"])
        tables, table_counts = _tables(connection)
        content = ReleaseContent(
            tables=tables,
            artifacts=_artifacts(connection),
            files=_files(connection),
            table_counts=table_counts,
            facts={key: value for key, value in facts.items() if key not in RESERVED_FACTS},
        )
        promoted_at = facts["promoted_at"]
        release = Release(
            number=facts["number"],
            state=ReleaseState(facts["state"]),
            created_at=datetime.fromisoformat(facts["created_at"]),
            promoted_at=None if promoted_at is None else datetime.fromisoformat(promoted_at),
            content=content,
        )
        return release, Path(facts["root"])


@contextmanager
def unavailable_if_unreadable(path: Path) -> Iterator[None]:
    """Turn what DuckDB and damaged facts raise into one error that names the file."""
    try:
        yield
    except (duckdb.Error, KeyError, ValueError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Unavailable(
            f"release file {str(path)!r} cannot be read ({reason}); restore it from a copy, or "
            "move it away and make a new release with `lifehelper build`",
            field=path.name,
        ) from error


def _check_version(path: Path, version: object) -> None:
    if version != FORMAT_VERSION:
        raise FormatVersionError(
            f"release file {path.name!r} has format version {version!r}, this package reads "
            f"{FORMAT_VERSION}; use the package that wrote it, or rebuild with `lifehelper build`",
            field=path.name,
        )


def _tables(
    connection: duckdb.DuckDBPyConnection,
) -> tuple[dict[str, TableParts], dict[str, TableCounts]]:
    parts: dict[str, list[Part]] = {}
    for row in connection.execute(
        """
        SELECT table_name, bucket, path, rows, lane_0, lane_1, lane_2, lane_3, identity,
            bytes_sha256, size_bytes
        FROM release_parts ORDER BY table_name, bucket, path
        """
    ).fetchall():
        name, bucket, path, rows, a, b, c, d, identity, sha256, size = row
        part = Part(
            table=name,
            bucket=bucket,
            path=path,
            rows_hash=RowsHash(rows=rows, lanes=(a, b, c, d)),
            identity=identity,
            bytes_sha256=sha256,
            size_bytes=size,
        )
        parts.setdefault(name, []).append(part)
    tables: dict[str, TableParts] = {}
    counts: dict[str, TableCounts] = {}
    for row in connection.execute(
        """
        SELECT table_name, rows, identity, returned, kept, repeated, duplicates, quarantined,
            bad_columns, orphans, ignored_columns
        FROM release_tables ORDER BY table_name
        """
    ).fetchall():
        name, rows, identity = row[:3]
        if rows is not None:
            tables[name] = TableParts(
                table=name, parts=tuple(parts[name]), identity=identity, rows=rows
            )
        if row[3] is not None:
            counts[name] = _counts(name, row[3:])
    return tables, counts


def _counts(name: str, row: tuple[Any, ...]) -> TableCounts:
    returned, kept, repeated, duplicates, quarantined, bad_columns, orphans, ignored = row
    return TableCounts(
        table=name,
        returned=returned,
        kept=kept,
        repeated=repeated,
        duplicates=duplicates,
        quarantined=quarantined,
        bad_columns=json.loads(bad_columns),
        orphans=orphans,
        ignored_columns=tuple(json.loads(ignored)),
    )


def _artifacts(connection: duckdb.DuckDBPyConnection) -> dict[str, Artifact]:
    rows = connection.execute(
        "SELECT name, kind, path, identity, rows, files, facts FROM release_artifacts ORDER BY name"
    ).fetchall()
    return {
        name: Artifact(
            name=name,
            kind=ArtifactKind(kind),
            path=path,
            identity=identity,
            rows=count,
            files=tuple(
                ArtifactFile(path=file, bytes_sha256=sha256, size_bytes=size)
                for file, sha256, size in json.loads(files)
            ),
            facts=json.loads(facts),
        )
        for name, kind, path, identity, count, files, facts in rows
    }


def _files(connection: duckdb.DuckDBPyConnection) -> tuple[FileCounts, ...]:
    rows = connection.execute(
        """
        SELECT source_file, path, lines, rows, rejected, reasons
        FROM release_files ORDER BY position
        """
    ).fetchall()
    return tuple(
        FileCounts(
            source_file=source_file,
            path=path,
            lines=lines,
            rows=read,
            rejected=rejected,
            reasons=json.loads(reasons),
        )
        for source_file, path, lines, read, rejected, reasons in rows
    )
