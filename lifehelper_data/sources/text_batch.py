"""What a file reader yields: rows as text, and the lines it could not read."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import pyarrow as pa

from lifehelper_data.sources.mapping import FileSpec

CONTENT_LIMIT: Final = 4_096
"""Characters of a rejected line that are kept."""

MAX_RECORD_BYTES: Final = 1 << 20
"""Longest line, and longest quoted record, that is read as a row."""

MAX_COLUMNS: Final = 2_000
"""Most columns a file may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """One line that is not a row.

    Attributes:
        line: physical line number, from 1.
        reason: one word that code can branch on.
        detail: the reason in numbers, if it has any.
        content: the line as text, cut at CONTENT_LIMIT characters.
    """

    line: int
    reason: str
    detail: str | None
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBatch:
    """A stretch of a file.

    Attributes:
        rows: all-text table; its columns may differ from batch to batch.
        lines: data lines this stretch spans, counted by the line splitter.
        rejects: lines that are not rows.
        bytes_read: bytes of the file consumed so far.
    """

    rows: pa.Table
    lines: int
    rejects: tuple[Reject, ...]
    bytes_read: int


class Reader(Protocol):
    """Reads one file of one format as text."""

    def __call__(self, path: Path, spec: FileSpec) -> Iterator[TextBatch]:
        """Yield the file in batches.

        Raises:
            SourceError: the file as a whole is not of its declared format.
        """
        ...


def shown(raw: bytes, codec: str) -> str:
    """Return a line as text fit to be stored: bad bytes and NUL escaped, cut to the limit."""
    text = raw[: CONTENT_LIMIT * 4].decode(codec, errors="backslashreplace")
    return text.replace("\x00", "\\x00")[:CONTENT_LIMIT]


def text_table(columns: list[str], values: list[list[str | None]]) -> pa.Table:
    """Build an all-text table from column-wise values."""
    return pa.table(
        {
            name: pa.array(column, type=pa.large_string())
            for name, column in zip(columns, values, strict=True)
        }
    )
