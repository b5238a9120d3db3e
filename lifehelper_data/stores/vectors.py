"""Vector tables on LanceDB: one per kind of item and vector space.

A table is written in batches while texts are embedded, each call whole or not at all, and what it
wrote is read back: nothing is silently lost. `publish` names the content of the newest version
with a tag, which readers open (see `vector_snapshot`).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from lifehelper_data.domain.errors import InvalidRequest, Unavailable
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.vector_files import VectorFiles
from lifehelper_data.stores.vector_gc import settle_head
from lifehelper_data.stores.vector_publish import REMOVE, damaged, publish_version
from lifehelper_data.stores.vector_rows import (
    CHUNK,
    ITEM_ID,
    TEXT_DIGEST,
    VECTOR,
    Ints,
    Vectors,
    as_matrix,
    check_ids,
    check_rows,
    read_keys,
)
from lifehelper_data.stores.vector_version import VectorVersion

INDEX_FROM_ROWS: Final = 100_000
MIN_RECALL: Final = 0.98


@dataclass(frozen=True, slots=True, kw_only=True)
class Upserted:
    """What an upsert did.

    Attributes:
        added: rows of new ids.
        replaced: rows of known ids.
    """

    added: int
    replaced: int


class VectorTable:
    """The vectors of one kind of item in one space. Not for use by several threads at a time.

    Every writing method takes the writer lock for its own length; `writing` holds it for longer.

    Attributes:
        name: what the vectors are of.
        vector_space_id: the space they lie in.
        dim: their length.
    """

    def __init__(self, files: VectorFiles, dim: int, table: Any) -> None:
        self.name = files.name
        self.vector_space_id = files.vector_space_id
        self.dim = dim
        self._files = files
        self._table = table
        self._held = False

    @classmethod
    def open_or_create(
        cls, layout: Layout, name: str, vector_space_id: str, dim: int
    ) -> "VectorTable":
        """Open a table, or make an empty one.

        Raises:
            InvalidRequest: what lies there is of another space or dim; names both.
            Unavailable: it is damaged; names it.
        """
        if dim < 1:
            raise InvalidRequest(f"dim {dim!r}: a vector has at least one number", field="dim")
        files = VectorFiles.of(layout, name, vector_space_id)
        if not files.exists():
            with files.locked():
                if not files.exists():
                    _create(files, dim)
        table = files.open_table()
        with files.readable():
            schema = table.schema
        found = {key.decode(): value.decode() for key, value in (schema.metadata or {}).items()}
        meant = {"vector_space_id": vector_space_id, "dim": str(dim)}
        for key, value in meant.items():
            if found.get(key) != value:
                raise InvalidRequest(
                    f"{files.shown!r} holds vectors of {key} {found.get(key)!r}, not {value!r}; "
                    f"configure the model they were made with, or {REMOVE}",
                    field=key,
                )
        if schema.field(VECTOR).type != _schema(files, dim).field(VECTOR).type:
            raise Unavailable(f"{files.shown!r} has columns {schema.names!r}; {REMOVE}")
        return cls(files, dim, table)

    @contextmanager
    def writing(self, *, wait: bool = True) -> Iterator[None]:
        """Be the table's only writer, from the comparison with what is wanted to `publish`.

        Raises:
            WorkspaceLocked: another process writes it and `wait` is false.
        """
        if self._held:
            yield
            return
        with self._files.locked(wait=wait):
            self._held = True
            try:
                self._refresh()
                settle_head(self._files, self._table)
                yield
            finally:
                self._held = False

    def __len__(self) -> int:
        self._refresh()
        return self._count()

    def digests(self) -> pl.DataFrame:
        """Return item_id, text_digest of every row, by ascending item_id.

        Raises:
            Unavailable: an id stands in the table twice.
        """
        self._refresh()
        ids, texts = read_keys(self._files, self._table)
        if len(np.unique(ids)) != len(ids):
            raise damaged(self._files, "an id stands in it more than once")
        return pl.DataFrame(
            {ITEM_ID: ids, TEXT_DIGEST: texts},
            schema={ITEM_ID: pl.Int64, TEXT_DIGEST: pl.String},
        )

    def upsert(self, item_ids: Ints, digests: Sequence[str], vectors: Vectors) -> Upserted:
        """Replace the rows of known ids and add those of new ones, all or none.

        Args:
            item_ids: int64 (n,), each once; none writes nothing.
            digests: lower-case hex, the digest of each text.
            vectors: float32 (n, dim), finite, of length 1 within 1e-3.

        Raises:
            InvalidRequest: a row may not be written; names the first bad id.
            Unavailable: the write failed, or what was read back is not what was written; the
                table is as it was before.
        """
        check_rows(item_ids, digests, vectors, self.dim)
        if len(item_ids) == 0:
            return Upserted(added=0, replaced=0)
        batch = self._batch(item_ids, digests, vectors)
        with self.writing():
            before, version = self._count(), int(self._table.version)
            with self._files.readable():
                merge = self._table.merge_insert(ITEM_ID).when_matched_update_all()
                # never by an index: lancedb issue 3177, rows silently not matched after optimize
                done = merge.when_not_matched_insert_all().use_index(False).execute(batch)
            added, replaced = int(done.num_inserted_rows), int(done.num_updated_rows)
            if added + replaced != len(item_ids) or self._count() != before + added:
                self._undo(version, f"{added} rows added, {replaced} replaced of {len(item_ids)}")
            if not self._holds(item_ids, digests, vectors):
                self._undo(version, "rows read back are not those written")
        return Upserted(added=added, replaced=replaced)

    def delete(self, item_ids: Ints) -> int:
        """Delete rows and return how many there were; ids without a row are ignored.

        Raises:
            InvalidRequest: an id is given twice.
            Unavailable: the delete failed, or not exactly these rows are gone.
        """
        check_ids(item_ids)
        deleted = 0
        with self.writing():
            for start in range(0, len(item_ids), CHUNK):
                condition = _any_of(item_ids[start : start + CHUNK])
                with self._files.readable():
                    expected = int(self._table.count_rows(condition))
                    if expected == 0:
                        continue  # Lance would write a version all the same
                    before, version = self._count(), int(self._table.version)
                    self._table.delete(condition)
                    left = int(self._table.count_rows(condition))
                if left or self._count() != before - expected:
                    self._undo(version, f"{expected} rows were to go, {left} of them are left")
                deleted += expected
        return deleted

    def publish(
        self, *, index_from_rows: int = INDEX_FROM_ROWS, min_recall: float = MIN_RECALL
    ) -> VectorVersion:
        """Name the content of the table with a tag, which keeps it until gc takes the tag away.

        The same content gets the same tag. If that is there, its rows are good and it has an index
        just if it should, nothing is written.

        Args:
            index_from_rows: rows from which an approximate index is made; below, search is exact.
            min_recall: recall@10 that an index must reach.

        Raises:
            Unavailable: rows in the table are bad; names the table and the first bad id.
            CheckFailed: the index leaves rows out or does not reach the recall.
        """
        with self.writing():
            return publish_version(
                self._files, self._table, index_from_rows=index_from_rows, min_recall=min_recall
            )

    def _holds(self, item_ids: Ints, digests: Sequence[str], vectors: Vectors) -> bool:
        """Whether each of these rows stands in the table once, to the bit."""
        for start in range(0, len(item_ids), CHUNK):
            part = slice(start, start + CHUNK)
            with self._files.readable():
                query = self._table.search().where(_any_of(item_ids[part]))
                found = query.limit(2 * CHUNK).to_arrow().combine_chunks()
            stored = found[ITEM_ID].to_numpy()
            wanted, order = np.argsort(item_ids[part]), np.argsort(stored)
            texts = found[TEXT_DIGEST].to_pylist()
            if (
                not np.array_equal(stored[order], item_ids[part][wanted])
                or [texts[i] for i in order] != [digests[start + i] for i in wanted]
                or not np.array_equal(
                    as_matrix(found[VECTOR].chunk(0), self.dim)[order], vectors[part][wanted]
                )
            ):
                return False
        return True

    def _batch(self, item_ids: Ints, digests: Sequence[str], vectors: Vectors) -> Any:
        import pyarrow as pa

        values = pa.array(np.ascontiguousarray(vectors).reshape(-1))
        return pa.table(
            [
                pa.array(item_ids),
                pa.array(list(digests), pa.utf8()),
                pa.FixedSizeListArray.from_arrays(values, self.dim),
            ],
            schema=_schema(self._files, self.dim),
        )

    def _count(self) -> int:
        with self._files.readable():
            return int(self._table.count_rows())

    def _refresh(self) -> None:
        """See what other processes wrote."""
        with self._files.readable():
            self._table.checkout_latest()

    def _undo(self, version: int, what: str) -> None:
        with self._files.readable():
            self._table.restore(version)
        raise damaged(self._files, f"{what}; the write was undone")


def _create(files: VectorFiles, dim: int) -> None:
    import lancedb

    with files.readable():
        connection = lancedb.connect(files.layout.vectors)
        connection.create_table(files.table_name, schema=_schema(files, dim), exist_ok=True)


def _schema(files: VectorFiles, dim: int) -> Any:
    import pyarrow as pa

    return pa.schema(
        [
            pa.field(ITEM_ID, pa.int64(), nullable=False),
            pa.field(TEXT_DIGEST, pa.utf8(), nullable=False),
            pa.field(VECTOR, pa.list_(pa.float32(), dim), nullable=False),
        ],
        metadata={"vector_space_id": files.vector_space_id, "dim": str(dim)},
    )


def _any_of(item_ids: Ints) -> str:
    return f"{ITEM_ID} IN ({', '.join(str(int(item_id)) for item_id in item_ids)})"
