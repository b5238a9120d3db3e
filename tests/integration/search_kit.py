"""Small shops for tests of search, encoders whose vectors are known, one built fixture shop."""

import csv
import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from lifehelper_data.domain.build import BuildReport
from lifehelper_data.domain.embedding_text import text_digest
from lifehelper_data.domain.text.normalize import normalize
from lifehelper_data.models.encoder import Encoder, VectorSpace, unit_rows
from lifehelper_data.models.native_folder import default_space
from lifehelper_data.pipelines.build import WholeBuild
from lifehelper_data.runtime.workspace import Workspace
from tests.integration.build_kit import ROOT, SOURCES, build

Vectors = npt.NDArray[np.float32]

FIXTURE_VECTORS = ROOT / "fixtures" / "vectors"
FIXTURE_SHOP = SOURCES / "fixture_shop.toml"
LOAD_BATCH_ENCODER = "lifehelper_data.pipelines.lazy_encoder.load_batch_encoder"
LOAD_QUERY_ENCODER = "lifehelper_data.runtime.open_search.load_query_encoder"
KIWI = "lifehelper_data.models.korean._kiwi"

MAPPING = """
[files.raw_books]
path = "books.csv"
[files.raw_category_map]
path = "category_map.csv"
[files.raw_onboarding]
path = "onboarding.jsonl"
[tables.books]
sql = "select * from raw_books"
[tables.category_map]
sql = "select * from raw_category_map"
[tables.onboarding]
sql = "select * from raw_onboarding"
"""


@dataclass(frozen=True, kw_only=True)
class Book:
    """One row of books.csv; None is an empty cell."""

    book_id: int
    title: str
    author: str | None = None
    description: str | None = None
    price: int | None = 10_000
    in_stock: bool = True
    category: str | None = None
    pub_year: int | None = 2020


@dataclass(frozen=True)
class SearchShop:
    """A shop of a few files, and its workspace beside it."""

    folder: Path

    @property
    def workspace(self) -> Path:
        """Where it is built."""
        return self.folder / "workspace"

    def write(
        self,
        books: Sequence[Book],
        *,
        category_map: Sequence[tuple[str, str, str]] = (("소설", "한국소설", "core"),),
        tags: Sequence[str] = ("위로",),
    ) -> "SearchShop":
        """Write the source files; returns itself."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "source.toml").write_text(MAPPING, encoding="utf-8")
        with (self.folder / "books.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, [column.name for column in fields(Book)])
            table.writeheader()
            table.writerows(asdict(book) for book in books)
        with (self.folder / "category_map.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("category", "class", "strength"), *category_map])
        chosen = {"user_id": 1, "categories": ["소설"], "tags": list(tags), "liked_book_ids": []}
        chosen |= {"reading_times": [], "criteria": []}
        text = json.dumps(chosen, ensure_ascii=False) + "\n"
        (self.folder / "onboarding.jsonl").write_text(text, encoding="utf-8")
        return self

    def build(self, **flags: object) -> WholeBuild:
        """Build it with its search assets."""
        source = self.folder / "source.toml"
        return build(self.workspace, source, stage_only=False, run__search_assets=True, **flags)

    def open(self, release: int | None = None) -> Workspace:
        """Open a release of it; None opens the one in service."""
        return Workspace.open(self.workspace, "current" if release is None else release)


@dataclass
class WordEncoder:
    """An encoder whose vectors are known: the direction of the sum of one vector per word.

    Equal words give equal vectors in any order; texts without a common word are near right angles.
    It notes what it was asked for.
    """

    space: VectorSpace = field(default_factory=default_space)
    precision: str = "fp32"
    documents: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)

    def encode_documents(self, texts: Sequence[str], progress: object = None) -> Vectors:
        """Return float32 (n, dim)."""
        self.documents += texts
        return self._encoded(texts)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (n, dim)."""
        self.queries += texts
        return self._encoded(texts)

    def _encoded(self, texts: Sequence[str]) -> Vectors:
        rows = [self._sum(sorted(normalize(text).split())) for text in texts]
        return unit_rows(np.array(rows).reshape(len(texts), self.space.dim))

    def _sum(self, words: Sequence[str]) -> npt.NDArray[np.float64]:
        total = np.zeros(self.space.dim)
        for word in words:
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
            total += np.random.default_rng(seed).normal(size=self.space.dim)
        return total


class CommittedVectors:
    """An encoder that knows the texts of the fixture shop only: their committed vectors."""

    def __init__(self) -> None:
        self.space = default_space()
        self.precision = "fp32"
        self._rows: dict[str, Vectors] = {}
        for name in ("books", "habits", "presets"):
            with np.load(FIXTURE_VECTORS / f"{name}.npz", allow_pickle=False) as file:
                digests, vectors = file["digests"], unit_rows(file["vectors"].astype(np.float32))
            keys = [bytes(digest).hex() for digest in digests]
            self._rows |= dict(zip(keys, vectors, strict=True))

    def encode_documents(self, texts: Sequence[str], progress: object = None) -> Vectors:
        """Return float32 (n, dim)."""
        return self._known("document", texts)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (n, dim)."""
        return self._known("query", texts)

    def _known(self, role: str, texts: Sequence[str]) -> Vectors:
        keys = [text_digest(self.space.vector_space_id, role, text) for text in texts]
        stale = [text for key, text in zip(keys, texts, strict=True) if key not in self._rows]
        assert not stale, f"run `python -m fixtures.vectors.make_vectors`; it lacks {stale[:3]}"
        return np.array([self._rows[key] for key in keys], dtype=np.float32)


@contextmanager
def encoding_with(encoder: Encoder) -> Iterator[None]:
    """Let builds and searches inside the block use this encoder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LOAD_BATCH_ENCODER, lambda _settings, _texts: encoder)
        patch.setattr(LOAD_QUERY_ENCODER, lambda _settings: encoder)
        yield


@contextmanager
def nothing_loaded() -> Iterator[None]:
    """Fail if an encoder or the Korean analyser is loaded inside the block."""

    def loaded(*_: object) -> Any:
        raise AssertionError("a model was loaded although nothing changed")

    with pytest.MonkeyPatch.context() as patch:
        for place in (LOAD_BATCH_ENCODER, KIWI):
            patch.setattr(place, loaded)
        yield


def built_fixture_shop(factory: pytest.TempPathFactory) -> Path:
    """Return a workspace with the fixture shop, built once a test run on its committed vectors."""
    workspace = factory.getbasetemp() / "searched-fixture-shop"
    if not workspace.exists():
        with encoding_with(CommittedVectors()):
            build(workspace, FIXTURE_SHOP, run__search_assets=True)
    return workspace


def report_of(built: WholeBuild, asset: str) -> BuildReport:
    """Return the report of one asset."""
    return next(report for report in built.assets if report.record.asset == asset)


def artifact_identities(built: WholeBuild) -> dict[str, str]:
    """Return the identities of indexes and vectors by name."""
    return {n: a.identity for n, a in built.release.release.content.artifacts.items()}


def found_ids(workspace: Workspace, query: str, **request: object) -> list[int]:
    """Return the ids of the books a search finds, best first."""
    return [r.book_id for r in workspace.search({"query": query, **request}).results]


def files_below(folder: Path) -> dict[str, tuple[int, int]]:
    """Return (size, number of the file and its bytes) of every file; reuse may renew its time."""
    return {
        path.relative_to(folder).as_posix(): (
            path.stat().st_size,
            path.stat().st_ino << 32 | zlib.crc32(path.read_bytes()),
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
