"""Rows of an evaluation run as Parquet: written atomically, read back as they were."""

import uuid
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from types import UnionType
from typing import Any, Final, TypeVar, get_args, get_type_hints

import polars as pl

from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.stores.atomic import replace_file

Row = TypeVar("Row")
_DTYPES: Final[dict[type, pl.DataType]] = {
    str: pl.String(),
    int: pl.Int64(),
    float: pl.Float64(),
    bool: pl.Boolean(),
}


def schema_of(kind: type) -> dict[str, pl.DataType]:
    """Return the column types of a row class, in the order of its fields."""
    hints = get_type_hints(kind)
    return {field.name: _DTYPES[_bare(hints[field.name])] for field in fields(kind)}


def to_frame(kind: type[Row], rows: Sequence[Row]) -> pl.DataFrame:
    """Return rows as a frame; no rows give an empty frame with all columns."""
    dicts = [asdict(row) for row in rows]  # type: ignore[call-overload]  # rows are dataclasses
    return pl.DataFrame(dicts, schema=schema_of(kind), orient="row")


def write_rows(path: Path, kind: type[Row], rows: Sequence[Row]) -> None:
    """Write rows to a Parquet file that is whole or absent."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        to_frame(kind, rows).write_parquet(temporary, compression="zstd")
        replace_file(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def read_frame(paths: Sequence[Path], kind: type) -> pl.DataFrame:
    """Return files of one row class as a frame, in the order given.

    Raises:
        Unavailable: a file is missing or is not as it was written.
    """
    schema = schema_of(kind)
    dtypes: Any = schema
    frames = [pl.DataFrame(schema=schema)]
    for path in paths:
        try:
            frames.append(pl.read_parquet(path).select(list(schema)).cast(dtypes))
        except (OSError, pl.exceptions.PolarsError) as error:
            raise Unavailable(
                f"{str(path)!r} of an eval run cannot be read ({error}); run the evaluation again"
            ) from error
    return pl.concat(frames)


def read_rows(paths: Sequence[Path], kind: type[Row]) -> list[Row]:
    """Return files of one row class as rows, in the order given.

    Raises:
        Unavailable: a file is missing or is not as it was written.
    """
    return [kind(**row) for row in read_frame(paths, kind).iter_rows(named=True)]


def _bare(hint: Any) -> type:
    """Return the type of an optional field without its None."""
    if isinstance(hint, UnionType):
        (hint,) = (part for part in get_args(hint) if part is not type(None))
    bare: type = hint
    return bare
