"""JSON lines as text: one object a line, values as their JSON text, strings as themselves."""

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NoReturn, TypeVar

from lifehelper_data.domain.errors import SourceError
from lifehelper_data.sources.lines import REPLACEMENT, LineReader
from lifehelper_data.sources.mapping import FileSpec
from lifehelper_data.sources.text_batch import (
    MAX_COLUMNS,
    MAX_RECORD_BYTES,
    Reject,
    TextBatch,
    shown,
    text_table,
)

BATCH_ROWS: Final = 20_000
BATCH_BYTES: Final = 32 << 20
BATCH_CELLS: Final = 2_000_000  # rows x columns; absent keys take room as well


_Value = TypeVar("_Value")


class _Number(str):
    """A JSON number, kept as the text it was written as."""

    __slots__ = ()


class _Unreadable(Exception):
    def __init__(self, reason: str, detail: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


def read_jsonl(path: Path, spec: FileSpec) -> Iterator[TextBatch]:
    """Yield a JSON-lines file in batches of at most BATCH_ROWS rows and about BATCH_BYTES bytes.

    A key that is absent from an object is null. Keys that differ in case only are one column. An
    object without keys is rejected: it says nothing, not even which columns are null.

    Raises:
        SourceError: more columns than MAX_COLUMNS.
    """
    reader = LineReader(path, spec.encoding)
    nulls = frozenset(spec.null_values) | {""}
    names: dict[str, str] = {name.lower(): name for name in spec.columns or ()}
    rows: list[dict[str, str | None]] = []
    rejects: list[Reject] = []
    lines = size = 0
    while (raw := reader.take()) is not None:
        if not raw.strip() and reader.line not in reader.too_long:
            continue
        lines += 1
        size += len(raw)
        try:
            row = _parse(raw, reader)
            for name in row:
                names.setdefault(name.lower(), name)
            if len(names) > MAX_COLUMNS:
                raise SourceError(
                    f"{path.name!r} has more than {MAX_COLUMNS} different keys; list the wanted "
                    "ones in an own file",
                    field=path.name,
                )
            rows.append({names[k.lower()]: None if v in nulls else v for k, v in row.items()})
        except _Unreadable as problem:
            content = shown(raw, reader.codec)
            rejects.append(
                Reject(
                    line=reader.line,
                    reason=problem.reason,
                    detail=problem.detail,
                    content=content,
                )
            )
        if (
            len(rows) + len(rejects) >= BATCH_ROWS
            or size >= BATCH_BYTES
            or len(rows) * len(names) >= BATCH_CELLS
        ):
            yield _batch(list(names.values()), rows, lines, rejects, reader.bytes_read)
            rows, rejects, lines, size = [], [], 0, 0
    yield _batch(list(names.values()), rows, lines, rejects, reader.bytes_read)


def _batch(
    names: list[str],
    rows: list[dict[str, str | None]],
    lines: int,
    rejects: list[Reject],
    bytes_read: int,
) -> TextBatch:
    return TextBatch(
        rows=text_table(names, [[row.get(name) for row in rows] for name in names]),
        lines=lines,
        rejects=tuple(rejects),
        bytes_read=bytes_read,
    )


def _parse(raw: bytes, reader: LineReader) -> dict[str, str | None]:
    if reader.line in reader.too_long:
        raise _Unreadable("too_long", f"over {MAX_RECORD_BYTES} bytes")
    if b"\x00" in raw:
        raise _Unreadable("nul")
    if reader.recoded and REPLACEMENT in raw:
        raise _Unreadable("broken_encoding")
    try:
        value = json.loads(
            raw.decode(reader.codec),
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_refuse_constant,
            object_pairs_hook=_object,
        )
    except UnicodeDecodeError as error:
        raise _Unreadable("broken_encoding", f"byte {error.start + 1}") from None
    except json.JSONDecodeError as error:
        raise _Unreadable("not_json", f"{error.msg} at {error.pos + 1}") from None
    except RecursionError:
        raise _Unreadable("not_json", "nested too deeply") from None
    if not isinstance(value, dict):
        raise _Unreadable("not_object", type(value).__name__.strip("_").lower())
    if not value:
        raise _Unreadable("empty_object")
    try:
        return _object([(_key(key), _text(item)) for key, item in value.items()])
    except RecursionError:
        raise _Unreadable("not_json", "nested too deeply") from None


def _object(pairs: list[tuple[str, _Value]]) -> dict[str, _Value]:
    seen = {key.lower() for key, _ in pairs}
    if len(seen) != len(pairs):
        raise _Unreadable("duplicate_key")
    return dict(pairs)


def _refuse_constant(name: str) -> NoReturn:
    raise _Unreadable("not_json", f"{name} is not JSON")


def _key(key: str) -> str:
    return unicodedata.normalize("NFC", _encodable(key)).strip() or "column_1"


def _text(value: object) -> str | None:
    if value is None:
        return None
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):  # _Number too: a number is its own text
        return _encodable(value)
    return _encodable(_dumped(value))


def _dumped(value: object) -> str:
    """Return compact JSON with numbers as they were written."""
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, list):
        return "[" + ",".join(_dumped(item) for item in value) + "]"
    if isinstance(value, dict):
        items = (f"{json.dumps(k, ensure_ascii=False)}:{_dumped(v)}" for k, v in value.items())
        return "{" + ",".join(items) + "}"
    return json.dumps(value, ensure_ascii=False)


def _encodable(text: str) -> str:
    if "\x00" in text:
        raise _Unreadable("nul")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _Unreadable("broken_encoding", "unpaired surrogate") from None
    return text
