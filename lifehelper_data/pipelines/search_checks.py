"""Checks of what search stands on. A release of tables only passes them, and they say so."""

from typing import Final

import numpy as np

from lifehelper_data.domain.checks import CheckResult
from lifehelper_data.domain.errors import LifehelperError
from lifehelper_data.stores.keyword_index import KeywordIndex
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.releases import ReleaseReader
from lifehelper_data.stores.vector_artifact import open_vectors, vectors_of

BOOKS_VECTORS: Final = "books_vectors"
BOOKS_KEYWORD: Final = "books_keyword"
MIN_RECALL: Final = 0.98
LENGTH_TOLERANCE: Final = 1e-3
NO_SEARCH: Final = "n/a: the release holds tables only"


def check_vectors(reader: ReleaseReader) -> CheckResult:
    """Every book with a description has one good vector, and no vector lacks its book."""
    artifact = reader.release.content.artifacts.get(BOOKS_VECTORS)
    if artifact is None:
        return _result("vectors", [], NO_SEARCH)
    try:
        snapshot = open_vectors(Layout(reader.root), artifact)
    except LifehelperError as error:
        return _result("vectors", [str(error)], "")
    described = reader.frame(
        "SELECT book_id FROM books WHERE description IS NOT NULL ORDER BY book_id"
    )["book_id"].to_numpy()
    lengths = np.sqrt(np.einsum("ij,ij->i", snapshot.vectors, snapshot.vectors, dtype=np.float64))
    problems = [
        f"{count:,} {what}"
        for count, what in (
            (len(np.setdiff1d(described, snapshot.item_ids)), "described books without a vector"),
            (len(np.setdiff1d(snapshot.item_ids, described)), "vectors without a described book"),
            (
                int((~(np.abs(lengths - 1) <= LENGTH_TOLERANCE)).sum()),
                "vectors not finite or not of length 1",
            ),
        )
        if count
    ]
    if snapshot.vectors.shape[1] != artifact.facts["dim"]:
        problems.append(f"dim {snapshot.vectors.shape[1]}, not {artifact.facts['dim']}")
    return _result("vectors", problems, f"{len(described):,} described books, one vector each")


def check_keyword_index(reader: ReleaseReader) -> CheckResult:
    """The keyword index holds exactly the books of the release."""
    artifact = reader.release.content.artifacts.get(BOOKS_KEYWORD)
    if artifact is None:
        return _result("keyword_index", [], NO_SEARCH)
    try:
        index = KeywordIndex.open(reader.root / artifact.path)
    except LifehelperError as error:
        return _result("keyword_index", [str(error)], "")
    books = reader.frame("SELECT book_id FROM books ORDER BY book_id")["book_id"].to_numpy()
    problems = [
        f"{count:,} {what}"
        for count, what in (
            (len(np.setdiff1d(books, index.book_ids)), "books are not indexed"),
            (len(np.setdiff1d(index.book_ids, books)), "indexed books are gone"),
        )
        if count
    ]
    return _result("keyword_index", problems, f"{len(books):,} books indexed")


def check_index_recall(reader: ReleaseReader) -> CheckResult:
    """Recall@10 of every approximate index against exact search, as measured when it was built."""
    problems, measured = [], []
    for artifact in vectors_of(reader.release.content.artifacts):
        recall = artifact.facts.get("index_recall")
        if artifact.facts.get("indexed") and isinstance(recall, float):
            measured.append(f"{artifact.name}: {recall:.4f} of 200 queries")
            if recall < MIN_RECALL:
                problems.append(f"{artifact.name}: {recall:.4f} below {MIN_RECALL}")
    return _result("index_recall", problems, "; ".join(measured) or "n/a: search is exact")


def _result(name: str, problems: list[str], good: str) -> CheckResult:
    return CheckResult(
        name=name, passed=not problems, blocking=True, detail="; ".join(problems) or good
    )
