"""Reading files in tests: everything a reader yields, in one value."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from lifehelper_data.sources import delimited, jsonl, lines
from lifehelper_data.sources.formats import READERS
from lifehelper_data.sources.mapping import FileSpec

Row = tuple[str | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A whole file as its reader yields it."""

    columns: tuple[str, ...]
    rows: list[Row]
    rejects: list[tuple[int, str, str | None, str]]
    lines: int

    @property
    def rejected(self) -> dict[int, str]:
        return {line: reason for line, reason, _, _ in self.rejects}


def read(path: Path, **spec: object) -> Read:
    """Read a file; rows are in the order of the columns of the last batch."""
    declared = FileSpec.model_validate({"path": path.name, **spec})
    tables, rejects, count = [], [], 0
    for batch in READERS[declared.resolved_format](path, declared):
        tables.append(batch.rows)
        rejects += [(r.line, r.reason, r.detail, r.content) for r in batch.rejects]
        count += batch.lines
    columns = tuple(tables[-1].column_names)
    return Read(
        columns=columns,
        rows=[
            tuple(row.get(name) for name in columns)
            for table in tables
            for row in table.to_pylist()
        ],
        rejects=rejects,
        lines=count,
    )


@contextmanager
def chunks(*, block_bytes: int, batch_rows: int) -> Iterator[None]:
    """Read blocks and batches of other sizes than usual."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK_BYTES", block_bytes)
        patch.setattr(delimited, "BATCH_ROWS", batch_rows)
        patch.setattr(jsonl, "BATCH_ROWS", batch_rows)
        yield
