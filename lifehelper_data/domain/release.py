"""What a release is made of, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from lifehelper_data.domain.counts import FileCounts, TableCounts
from lifehelper_data.domain.identity import RowsHash, combined_identity

FORMAT_VERSION: Final = 1
"""Version of the release file's own layout."""


class ReleaseState(StrEnum):
    """Whether readers may be sent to a release."""

    STAGED = "staged"
    PROMOTED = "promoted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One immutable Parquet file of a table.

    Attributes:
        table: the table it belongs to.
        bucket: which bucket of the table it holds; 0 for a table in one part.
        path: path relative to the workspace.
        rows_hash: additive hash of its rows.
        identity: hex identity of its rows; also its file name.
        bytes_sha256: hash of the file.
        size_bytes: size of the file.
    """

    table: str
    bucket: int
    path: str
    rows_hash: RowsHash
    identity: str
    bytes_sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TableParts:
    """All parts of one table, ordered by bucket.

    Attributes:
        table: the table's name.
        parts: its parts; an empty table has one empty part.
        identity: hex identity of all its rows, independent of how they are split.
        rows: number of rows.
    """

    table: str
    parts: tuple[Part, ...]
    identity: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactFile:
    """One immutable file of an artifact.

    Attributes:
        path: path relative to the workspace.
        bytes_sha256: hash of the file.
        size_bytes: size of the file.
    """

    path: str
    bytes_sha256: str
    size_bytes: int


class ArtifactKind(StrEnum):
    """What an artifact is stored as."""

    KEYWORD_INDEX = "keyword_index"  # a folder of files
    VECTORS = "vectors"  # a tagged version of a Lance table


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """Something a release holds that is not a table: an index, a set of vectors.

    Attributes:
        name: its name in the release, such as `books_vectors`.
        kind: how it is stored.
        path: folder relative to the workspace.
        identity: hex identity of what it was made from; encoder-derived floats are not in it.
        rows: items it holds.
        files: its files, for a folder; empty for vectors, whose store checks its own.
        facts: what is needed to open it (tag, version, dim, vector space) and to describe it.
    """

    name: str
    kind: ArtifactKind
    path: str
    identity: str
    rows: int
    files: tuple[ArtifactFile, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """Bytes of its files; for vectors, of the float32 numbers."""
        if self.kind is ArtifactKind.VECTORS:
            return self.rows * int(str(self.facts.get("dim", 0))) * 4
        return sum(file.size_bytes for file in self.files)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseContent:
    """Everything a release says, before it has a number.

    Attributes:
        tables: parts by table name.
        artifacts: indexes and vectors, by name.
        files: line counts of the source files.
        table_counts: row counts of the loads, by table name.
        facts: further facts by name (JSON-ready values): popularity method, configuration hash,
            code version, source watermarks, schema of the source files and so on.
    """

    tables: Mapping[str, TableParts]
    artifacts: Mapping[str, Artifact] = field(default_factory=dict)
    files: tuple[FileCounts, ...] = ()
    table_counts: Mapping[str, TableCounts] = field(default_factory=dict)
    facts: Mapping[str, object] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """Identity of all tables and artifacts. Paths, times and versions are not in it."""
        tables = {name: table.identity for name, table in self.tables.items()}
        artifacts = {f"artifact:{name}": a.identity for name, a in self.artifacts.items()}
        return combined_identity(tables | artifacts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A published release.

    Attributes:
        number: its number, from 1.
        state: staged or promoted.
        created_at: when it was published.
        promoted_at: when it was first promoted, if it was.
        content: what it holds.
    """

    number: int
    state: ReleaseState
    created_at: datetime
    promoted_at: datetime | None
    content: ReleaseContent

    @property
    def identity(self) -> str:
        """Identity of the content."""
        return self.content.identity
