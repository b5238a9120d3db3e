"""Giving the content of a vector table a name that lasts."""

from typing import Any, Final

from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.stores.vector_files import KEEP_EVERY_VERSION, VectorFiles
from lifehelper_data.stores.vector_index import IndexQuality, drop_index, index_rows
from lifehelper_data.stores.vector_rows import VectorRows, content_digest, read_keys, read_rows
from lifehelper_data.stores.vector_version import (
    VectorVersion,
    load_facts,
    read_tagged,
    save_snapshot,
    tag_faults,
    tag_of,
)

COMPACT_ABOVE: Final = 8
"""Fragments a version may have. Compaction rewrites them all: 300 MB and 2 s at 200k x 384."""
REMOVE: Final = "remove that folder and run `lifehelper build`, which makes it again"


def publish_version(
    files: VectorFiles, table: Any, *, index_from_rows: int, min_recall: float
) -> VectorVersion:
    """Tag the newest content of a table (see `VectorTable.publish`).

    Args:
        files: where the table lies; its lock is held.
        table: Lance's table at its newest version.
        index_from_rows: rows from which an approximate index is made.
        min_recall: recall@10 that an index must reach.
    """
    ids, digests = read_keys(files, table)
    with files.readable():
        dim = int(table.schema.field("vector").type.list_size)
    digest = content_digest(files.vector_space_id, dim, ids, digests)
    tag = tag_of(digest)
    want_index = len(ids) > 0 and len(ids) >= index_from_rows
    known = _reusable(files, table, tag, want_index, min_recall)
    if known is not None:
        files.version_facts(tag).touch()  # gc spares what was published lately
        return known
    drop_index(files, table)  # it is trained anew; older versions keep theirs
    if not want_index:
        _compact(files, table)
    rows = _good_rows(files, table, tag)
    quality: IndexQuality | None = None
    if want_index:
        _rewrite(files, table, rows)
        rows = _good_rows(files, table, tag)
        quality = index_rows(files, table, rows, min_recall)
    version = VectorVersion(
        name=files.name,
        vector_space_id=files.vector_space_id,
        dim=dim,
        version=int(table.version),
        tag=tag,
        rows=len(ids),
        content_digest=digest,
        indexed=quality is not None,
        recall=None if quality is None else quality.recall,
        probes=None if quality is None else quality.probes,
    )
    save_snapshot(files, version, rows)
    _set_tag(files, table, version)
    return version


def damaged(files: VectorFiles, what: str) -> Unavailable:
    """Return the error that says what is wrong with a table, and the remedy."""
    return Unavailable(
        f"vector table {files.shown!r} is damaged: {what}; run `lifehelper build`; if that does "
        f"not help, {REMOVE}",
        field=files.table_name,
    )


def _reusable(
    files: VectorFiles, table: Any, tag: str, want_index: bool, min_recall: float
) -> VectorVersion | None:
    """Return what is known about a tag if it can stand for the table as it is."""
    known = load_facts(files, tag)
    with files.readable():
        if known is None or tag not in table.tags.list():
            return None
    if known.indexed != want_index or (known.recall is not None and known.recall < min_recall):
        return None
    try:
        _, rows, indexed = read_tagged(files, tag)
    except Unavailable:
        return None  # it is made again from the newest version
    return known if indexed == want_index and not tag_faults(files, tag, rows) else None


def _rewrite(files: VectorFiles, table: Any, rows: VectorRows) -> None:
    """Write all rows anew, in one commit, by ascending id and without traces of deleted ones.

    With 1 % of rows deleted training an index took 100 s instead of 5 s at 200k x 384, and
    compaction leaves a fragment alone until a tenth of it is deleted.
    """
    import pyarrow as pa

    with files.readable():
        values = pa.array(rows.vectors.reshape(-1))
        columns = [
            pa.array(rows.item_ids),
            pa.array(rows.digests, pa.utf8()),
            pa.FixedSizeListArray.from_arrays(values, rows.vectors.shape[1]),
        ]
        table.add(pa.table(columns, schema=table.schema), mode="overwrite")


def _compact(files: VectorFiles, table: Any) -> None:
    with files.readable():
        if int(table.stats()["fragment_stats"]["num_fragments"]) > COMPACT_ABOVE:
            table.optimize(cleanup_older_than=KEEP_EVERY_VERSION)


def _good_rows(files: VectorFiles, table: Any, tag: str) -> VectorRows:
    rows = read_rows(files, table)
    faults = tag_faults(files, tag, rows)
    if faults:
        raise damaged(files, faults[0])
    return rows


def _set_tag(files: VectorFiles, table: Any, version: VectorVersion) -> None:
    with files.readable():
        if version.tag in table.tags.list():
            table.tags.update(version.tag, version.version)
        else:
            table.tags.create(version.tag, version.version)
