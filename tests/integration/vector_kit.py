"""Small real vector tables for the tests of the vector store."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.vectors import VectorTable

SPACE = "0123456789abcdef"
DIM = 8

Vectors = npt.NDArray[np.float32]
Row = tuple[str, Vectors]


def unit(*values: float) -> Vectors:
    """Return the vector of length 1 in a direction."""
    vector = np.array(values, dtype=np.float64)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def row_of(item_id: int, revision: int = 0, dim: int = DIM) -> Row:
    """Return the digest and the vector that an item has in a revision of its text."""
    rng = np.random.default_rng([item_id, revision])
    return digest(f"{item_id}/{revision}"), unit(*rng.normal(size=dim))


def rows_of(*item_ids: int, revision: int = 0) -> dict[int, Row]:
    return {item_id: row_of(item_id, revision) for item_id in item_ids}


def open_table(root: Path, name: str = "books", space: str = SPACE, dim: int = DIM) -> VectorTable:
    return VectorTable.open_or_create(Layout(root), name, space, dim)


def put(table: VectorTable, rows: Mapping[int, Row]) -> None:
    ids = np.array(list(rows), dtype=np.int64)
    vectors = np.array([vector for _, vector in rows.values()], dtype=np.float32)
    table.upsert(ids, [text for text, _ in rows.values()], vectors.reshape(len(ids), table.dim))


def ids(*item_ids: int) -> npt.NDArray[np.int64]:
    return np.array(item_ids, dtype=np.int64)


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
