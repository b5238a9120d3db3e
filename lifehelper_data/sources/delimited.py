"""CSV and TSV as text: every physical line ends up in a row, a reject, or the header.

Rules (RFC 4180, with recovery):

- A field that starts with the quote ends at the next lone quote; a doubled quote is one quote; the
  field may span lines. A quote elsewhere is an ordinary character.
- A quoted record that never closes, closes in the middle of a field, grows past the limits or past
  its columns, or spans lines and then has too few, gives up **its first line only**
  (`unclosed_quote`); reading resumes on the next physical line, so one stray quote costs one line.
- A line of the wrong number of columns, with a NUL, with bytes that are not of the encoding, or
  over the length limit is rejected. Blank lines are skipped and are not data lines; a line of
  delimiters is not blank, even where the delimiter is a blank (TSV).
"""

import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from lifehelper_data.domain.errors import SourceError
from lifehelper_data.sources.lines import REPLACEMENT, LineReader
from lifehelper_data.sources.mapping import FileSpec
from lifehelper_data.sources.quoting import BrokenQuote, QuotedRecord
from lifehelper_data.sources.text_batch import (
    MAX_COLUMNS,
    MAX_RECORD_BYTES,
    Reject,
    TextBatch,
    shown,
    text_table,
)

BATCH_ROWS: Final = 50_000
BATCH_BYTES: Final = 32 << 20
MAX_RECORD_LINES: Final = 1_000
_WHITESPACE: Final = b" \t\n\r\x0b\x0c"


class _Unreadable(Exception):
    """A line that is not a row, with the reason."""

    def __init__(self, reason: str, detail: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


def read_delimited(path: Path, spec: FileSpec) -> Iterator[TextBatch]:
    """Yield a delimited file in batches of at most BATCH_ROWS rows and about BATCH_BYTES bytes.

    Raises:
        SourceError: no header where one is due, a duplicate or unreadable header.
    """
    reader = LineReader(path, spec.encoding)
    blanks = _WHITESPACE.replace(spec.resolved_delimiter.encode(), b"")
    columns = _header(reader, path, spec, blanks)
    nulls = frozenset(spec.null_values) | {""}
    rows: list[list[str]] = []
    rejects: list[Reject] = []
    lines = size = 0
    while (raw := reader.peek(0)) is not None:
        number = reader.line + 1
        if not raw.strip(blanks) and number not in reader.too_long:
            reader.take()
            continue
        lines += 1
        try:
            fields, spanned = _record(reader, spec, len(columns))
            rows.append(fields)
        except _Unreadable as problem:
            spanned = 1
            rejects.append(
                Reject(
                    line=number,
                    reason=problem.reason,
                    detail=problem.detail,
                    content=shown(raw, reader.codec),
                )
            )
        for _ in range(spanned):
            size += len(reader.take() or b"")
        if len(rows) + len(rejects) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield _batch(columns, rows, nulls, lines=lines, rejects=rejects, reader=reader)
            rows, rejects, lines, size = [], [], 0, 0
    yield _batch(columns, rows, nulls, lines=lines, rejects=rejects, reader=reader)


def _batch(
    columns: list[str],
    rows: list[list[str]],
    nulls: frozenset[str],
    *,
    lines: int,
    rejects: list[Reject],
    reader: LineReader,
) -> TextBatch:
    by_column: list[list[str | None]] = (
        [[None if v in nulls else v for v in column] for column in zip(*rows, strict=True)]
        if rows
        else [[] for _ in columns]
    )
    return TextBatch(
        rows=text_table(columns, by_column),
        lines=lines,
        rejects=tuple(rejects),
        bytes_read=reader.bytes_read,
    )


def _header(reader: LineReader, path: Path, spec: FileSpec, blanks: bytes) -> list[str]:
    names: list[str] | None = list(spec.columns) if spec.columns else None
    if spec.header:
        while (
            (raw := reader.peek(0)) is not None
            and not raw.strip(blanks)
            and reader.line + 1 not in reader.too_long
        ):
            reader.take()
        if raw is None and names is None:
            raise SourceError(
                f"{path.name!r} is empty: no header line; remove it or declare columns = [...]",
                field=path.name,
            )
        if raw is not None:
            found, spanned = _header_record(reader, path, spec)
            names = names or found
            for _ in range(spanned):
                reader.take()
    assert names is not None  # noqa: S101 - the mapping requires columns where header = false
    return checked_columns(names, path)


def _header_record(reader: LineReader, path: Path, spec: FileSpec) -> tuple[list[str], int]:
    """Read the header; where the mapping names the columns, only see how many lines to skip.

    A header over several lines may be a stray quote that swallows rows, so it is taken for one only
    if the mapping names as many columns as it has.
    """
    try:
        names, spanned = _record(reader, spec, len(spec.columns) if spec.columns else None)
    except _Unreadable as problem:
        if spec.columns:
            return [], 1
        raise SourceError(
            f"the header of {path.name!r} cannot be read ({problem.reason}): check the "
            f"encoding {spec.encoding!r} or declare columns = [...]",
            field=path.name,
        ) from problem
    if spanned > 1 and not spec.columns:
        raise SourceError(
            f"the header of {path.name!r} spans {spanned} lines (an unclosed quote?): mend it, or "
            "declare columns = [...]",
            field=path.name,
        )
    return names, spanned


def checked_columns(names: list[str], path: Path) -> list[str]:
    """Normalise column names and refuse what cannot be addressed.

    Returns:
        Names trimmed, in NFC; a blank one becomes `column_<position>`.

    Raises:
        SourceError: two columns share a name (case does not count), or there are too many.
    """
    if len(names) > MAX_COLUMNS:
        raise SourceError(
            f"{path.name!r} has {len(names)} columns, more than {MAX_COLUMNS}: check the delimiter",
            field=path.name,
        )
    clean = [
        unicodedata.normalize("NFC", name).strip() or f"column_{position}"
        for position, name in enumerate(names, 1)
    ]
    seen: dict[str, str] = {}
    for name in clean:
        if name.lower() in seen:
            raise SourceError(
                f"{path.name!r} has two columns called {name!r}: declare columns = [...] to tell "
                "them apart",
                field=path.name,
            )
        seen[name.lower()] = name
    return clean


def _record(reader: LineReader, spec: FileSpec, expected: int | None) -> tuple[list[str], int]:
    """Parse the record that starts at the next line without taking it.

    Returns:
        Its fields and how many physical lines it spans.
    """
    text = _decoded(reader, 0)
    delimiter, quote = spec.resolved_delimiter, spec.quote
    spanned = 1
    if not quote or quote not in text:
        fields = text.split(delimiter)
    else:
        fields, spanned = _quoted_record(reader, text, QuotedRecord(delimiter, quote), expected)
    if expected is not None and len(fields) != expected:
        if spanned > 1:
            raise _Unreadable("unclosed_quote", f"would span {spanned} lines")
        raise _Unreadable("column_count", f"expected {expected}, found {len(fields)}")
    return fields, spanned


def _quoted_record(
    reader: LineReader, text: str, record: QuotedRecord, expected: int | None
) -> tuple[list[str], int]:
    """Read lines until no quote is open.

    It gives up as soon as there are too many fields: without that, every line of a file of stray
    quotes could make it read MAX_RECORD_LINES lines ahead.
    """
    most = MAX_COLUMNS if expected is None else expected
    spanned, size = 1, len(text)
    while True:
        try:
            record.feed(text)
        except BrokenQuote as problem:
            raise _Unreadable("unclosed_quote", str(problem)) from None
        if not record.open:
            return record.fields, spanned
        if len(record.fields) >= most:
            raise _Unreadable("unclosed_quote", f"more than {most} fields before it closes")
        if reader.peek(spanned) is None:
            raise _Unreadable("unclosed_quote", "the file ends inside the field")
        if spanned >= MAX_RECORD_LINES or size > MAX_RECORD_BYTES:
            raise _Unreadable("unclosed_quote", f"no closing quote within {spanned} lines")
        try:
            text = _decoded(reader, spanned)
        except _Unreadable as problem:
            raise _Unreadable("unclosed_quote", f"runs into a line with {problem.reason}") from None
        spanned += 1
        size += len(text) + 1


def _decoded(reader: LineReader, ahead: int) -> str:
    raw = reader.peek(ahead)
    assert raw is not None  # noqa: S101 - callers have looked
    if reader.line + 1 + ahead in reader.too_long:
        raise _Unreadable("too_long", f"over {MAX_RECORD_BYTES} bytes")
    if b"\x00" in raw:
        raise _Unreadable("nul")
    if reader.recoded and REPLACEMENT in raw:
        raise _Unreadable("broken_encoding")
    try:
        return raw.decode(reader.codec)
    except UnicodeDecodeError as error:
        raise _Unreadable("broken_encoding", f"byte {error.start + 1}") from None
