"""One release as one small DuckDB file: views over its parts, and facts about them.

The file holds no rows of the catalog: its views read Parquet parts by absolute path. `root` among
the facts is the folder those paths begin with; it is in no hash.
"""

import json
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

import duckdb

from lifehelper_data.domain.contract import ALL_TABLES, SQL_TYPES
from lifehelper_data.domain.errors import ContractViolation, InvalidRequest
from lifehelper_data.domain.release import (
    FORMAT_VERSION,
    Release,
    ReleaseContent,
    ReleaseState,
    TableParts,
)
from lifehelper_data.stores.duck import (
    connect_writer,
    parquet_scan,
    quote_identifier,
    quote_text,
)
from lifehelper_data.stores.release_schema import RESERVED_FACTS, SELF_TABLES


def write_release_file(target: Path, release: Release, root: Path) -> None:
    """Write a release to a new file, checkpointed: no `.wal` stays beside it.

    Args:
        target: a path that does not exist yet; a failed write leaves nothing there.
        release: what to write.
        root: absolute workspace folder the parts lie under.

    Raises:
        InvalidRequest: a fact or part path that a release cannot hold.
        ContractViolation: a part lacks a column of the contract.
    """
    _check(release.content, root)
    try:
        with connect_writer(target) as connection:
            connection.execute("BEGIN")
            for name, columns in SELF_TABLES.items():
                listed = ", ".join(
                    f"{quote_identifier(column)} {sql_type}{'' if nullable else ' NOT NULL'}"
                    for column, sql_type, nullable, _ in columns
                )
                connection.execute(f"CREATE TABLE {quote_identifier(name)} ({listed})")
            _insert(connection, "release_facts", _fact_rows(release, root))
            _insert(connection, "release_parts", _part_rows(release.content))
            _insert(connection, "release_tables", _table_rows(release.content))
            _insert(connection, "release_files", _file_rows(release.content))
            _insert(connection, "release_artifacts", _artifact_rows(release.content))
            _insert(connection, "data_dictionary", _dictionary_rows(release.content))
            _create_views(connection, release.content, root)
            connection.execute("COMMIT")
            connection.execute("CHECKPOINT")
    except BaseException:
        discard(target)
        raise


def rewrite_release_file(
    source: Path,
    target: Path,
    content: ReleaseContent,
    *,
    root: Path,
    promoted_at: datetime | None,
) -> None:
    """Copy a release file with other facts: promoted, or in another folder.

    Views are made from the file's own data dictionary, so a release of an older contract stays
    what it was.

    Args:
        source: the release file, of this format version.
        target: a path that does not exist yet; a failed write leaves nothing there.
        content: what the file holds.
        root: the workspace folder from now on.
        promoted_at: when it was first promoted; None while it is staged.
    """
    state = ReleaseState.STAGED if promoted_at is None else ReleaseState.PROMOTED
    try:
        shutil.copyfile(source, target)
        with connect_writer(target) as connection:
            for key, value in (
                ("state", state.value),
                ("promoted_at", _time_text(promoted_at)),
                ("root", str(root)),
            ):
                connection.execute(
                    "UPDATE release_facts SET value = ? WHERE key = ?", [_json(value), key]
                )
            _create_views(connection, content, root)
            connection.execute("CHECKPOINT")
    except BaseException:
        discard(target)
        raise


def discard(target: Path) -> None:
    """Remove a half-written release file and its log, if they are there."""
    target.unlink(missing_ok=True)
    target.with_name(target.name + ".wal").unlink(missing_ok=True)


def _check(content: ReleaseContent, root: Path) -> None:
    if not root.is_absolute():
        raise InvalidRequest(f"workspace folder {str(root)!r} is not absolute")
    if "?" in str(root):  # DuckDB 2 puts ".wal" before it, as in a web address
        raise InvalidRequest(f"workspace folder {str(root)!r} has a '?' in it; rename the folder")
    for key in content.facts:
        if key in RESERVED_FACTS:
            raise InvalidRequest(f"fact {key!r} is written by the release store itself", field=key)
    for name, table in content.tables.items():
        if name not in ALL_TABLES:
            raise InvalidRequest(f"table {name!r} is not in the contract", field=name)
        if table.table != name or any(part.table != name for part in table.parts):
            raise InvalidRequest(f"table {name!r} holds parts of another table", field=name)
        if not table.parts:
            raise InvalidRequest(f"table {name!r} has no part, not even an empty one", field=name)
        for part in table.parts:
            path = PurePosixPath(part.path)
            if path.is_absolute() or ".." in path.parts:
                raise InvalidRequest(
                    f"part {part.path!r} is not inside the workspace", field=part.path
                )
    for name, counts in content.table_counts.items():
        if counts.table != name:
            raise InvalidRequest(f"counts of {counts.table!r} stand under {name!r}", field=name)


def _insert(
    connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[tuple[object, ...]]
) -> None:
    if rows:
        marks = ", ".join("?" for _ in SELF_TABLES[table])
        statement = f"INSERT INTO {quote_identifier(table)} VALUES ({marks})"
        connection.executemany(statement, rows)


def _create_views(
    connection: duckdb.DuckDBPyConnection, content: ReleaseContent, root: Path
) -> None:
    for name in sorted(content.tables):
        columns = connection.execute(
            "SELECT column_name, type FROM data_dictionary WHERE table_name = ? ORDER BY position",
            [name],
        ).fetchall()
        listed = ", ".join(
            f"CAST({quote_identifier(column)} AS {sql_type}) AS {quote_identifier(column)}"
            for column, sql_type in columns
        )
        scan = parquet_scan(root / part.path for part in content.tables[name].parts)
        view = quote_identifier(name)
        try:
            connection.execute(f"CREATE OR REPLACE VIEW {view} AS SELECT {listed} FROM {scan}")
        except duckdb.BinderException as error:
            raise ContractViolation(
                f"the parts of table {name!r} do not hold the contract's columns: {error}; "
                "rebuild with `lifehelper build`",
                field=name,
            ) from error
        if name in ALL_TABLES:
            connection.execute(f"COMMENT ON VIEW {view} IS {quote_text(ALL_TABLES[name].meaning)}")


def _fact_rows(release: Release, root: Path) -> list[tuple[object, ...]]:
    own: dict[str, object] = {
        "format_version": FORMAT_VERSION,
        "number": release.number,
        "state": release.state.value,
        "created_at": _time_text(release.created_at),
        "promoted_at": _time_text(release.promoted_at),
        "identity": release.identity,
        "root": str(root),
    }
    facts = {**own, **{key: release.content.facts[key] for key in sorted(release.content.facts)}}
    return [(key, _json(value)) for key, value in facts.items()]


def _part_rows(content: ReleaseContent) -> list[tuple[object, ...]]:
    return [
        (
            name,
            part.bucket,
            part.path,
            part.rows_hash.rows,
            *part.rows_hash.lanes,
            part.identity,
            part.bytes_sha256,
            part.size_bytes,
        )
        for name in sorted(content.tables)
        for part in sorted(content.tables[name].parts, key=lambda part: (part.bucket, part.path))
    ]


def _table_rows(content: ReleaseContent) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for name in sorted(content.tables.keys() | content.table_counts.keys()):
        table: TableParts | None = content.tables.get(name)
        counts = content.table_counts.get(name)
        held = (None, None) if table is None else (table.rows, table.identity)
        if counts is None:
            rows.append((name, *held, *(None for _ in range(8))))
            continue
        rows.append(
            (
                name,
                *held,
                counts.returned,
                counts.kept,
                counts.repeated,
                counts.duplicates,
                counts.quarantined,
                _json(dict(counts.bad_columns)),
                counts.orphans,
                _json(list(counts.ignored_columns)),
            )
        )
    return rows


def _file_rows(content: ReleaseContent) -> list[tuple[object, ...]]:
    return [
        (i, f.source_file, f.path, f.lines, f.rows, f.rejected, _json(dict(f.reasons)))
        for i, f in enumerate(content.files, start=1)
    ]


def _artifact_rows(content: ReleaseContent) -> list[tuple[object, ...]]:
    return [
        (
            name,
            artifact.kind.value,
            artifact.path,
            artifact.identity,
            artifact.rows,
            _json([[f.path, f.bytes_sha256, f.size_bytes] for f in artifact.files]),
            _json(dict(artifact.facts)),
        )
        for name, artifact in sorted(content.artifacts.items())
    ]


def _dictionary_rows(content: ReleaseContent) -> list[tuple[object, ...]]:
    described = {
        name: [
            (column.name, SQL_TYPES[column.kind], column.nullable, column.meaning)
            for column in ALL_TABLES[name].columns
        ]
        for name in sorted(content.tables)
    } | {name: list(columns) for name, columns in SELF_TABLES.items()}
    return [
        (table, position, *column)
        for table, columns in described.items()
        for position, column in enumerate(columns, start=1)
    ]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def _time_text(time: datetime | None) -> str | None:
    return None if time is None else time.astimezone(UTC).isoformat(timespec="microseconds")
