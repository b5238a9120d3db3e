"""Search on passages with questions: any retrieval corpus, loaded as a catalog of its own.

Passages become books in a scratch workspace and go through the same builders, indexes and search as
a shop; nothing of the search is written again here. A workspace is named after the corpus's
content, so a second evaluation embeds nothing.
"""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from lifehelper_data.domain.errors import InvalidRequest, NotFound
from lifehelper_data.domain.ports import NoProgress, Progress
from lifehelper_data.domain.search.bm25 import Bm25, DocumentTerms, build_postings
from lifehelper_data.domain.text.bigrams import bigrams
from lifehelper_data.evaluation.cases import Case
from lifehelper_data.evaluation.search_seeds import draw_order, split_of
from lifehelper_data.evaluation.search_systems import K, answer, query_of
from lifehelper_data.evaluation.suite import Generate, Output, Suite
from lifehelper_data.evaluation.suites.search import SEARCH
from lifehelper_data.pipelines.build import build_all
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.runtime.requests import QUERY_MAX
from lifehelper_data.runtime.workspace import open_store, utc_now
from lifehelper_data.settings import Settings
from lifehelper_data.stores.atomic import write_text
from lifehelper_data.stores.eval_records import digest_of
from lifehelper_data.stores.layout import Layout

BIGRAMS: Final = "character bigrams"
"""The yardstick: BM25 over character bigrams of a whole passage, no analyser, no model."""

_MAPPING: Final = """\
description = "{passages} passages of {name}, as books"
[files.raw_passages]
path = "passages.jsonl"
[tables.books]
sql = "select book_id, title, description, true as in_stock from raw_passages"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A document of a corpus.

    Attributes:
        doc_id: its id in the corpus.
        title: what it is headed; None if the corpus has no titles.
        text: its text.
    """

    doc_id: str
    title: str | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with its passages.

    Attributes:
        query_id: its id in the corpus.
        text: as asked.
        relevant: doc_id -> grade.
    """

    query_id: str
    text: str
    relevant: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Passages and questions. A passage's book_id is its position, from 1.

    Attributes:
        name: letters, digits, hyphens, underscores.
        passages: in the corpus's order.
        questions: in the corpus's order.
    """

    name: str
    passages: tuple[Passage, ...]
    questions: tuple[Question, ...]

    @property
    def digest(self) -> str:
        """Digest of the passages: what is indexed."""
        return digest_of([[p.doc_id, p.title, p.text] for p in self.passages])

    def sampled(self, size: int | None, seed: int) -> "Corpus":
        """Return the corpus with `size` of its questions, drawn by the seed; None: with all."""
        if size is None or size >= len(self.questions):
            return self
        drawn = sorted(self.questions, key=lambda q: (draw_order(seed, q.query_id), q.query_id))
        kept = {question.query_id for question in drawn[:size]}
        return dataclasses.replace(
            self, questions=tuple(q for q in self.questions if q.query_id in kept)
        )


def read_corpus(folder: Path) -> Corpus:
    """Read passages, questions and judgements of a folder.

    Files: `corpus.parquet` (doc_id, title if there are any, text), `queries.parquet` (query_id,
    text), `qrels.parquet` (query_id, doc_id, relevance).

    Raises:
        NotFound: a file is absent.
        InvalidRequest: a judgement names a document that is not there.
    """
    frames = []
    for name in ("corpus", "queries", "qrels"):
        path = folder / f"{name}.parquet"
        if not path.is_file():
            raise NotFound(f"no file {str(path)!r}; give a folder with corpus, queries and qrels")
        frames.append(pl.read_parquet(path))
    documents, queries, judged = frames
    passages = tuple(
        Passage(doc_id=row["doc_id"], title=row.get("title"), text=row["text"])
        for row in documents.iter_rows(named=True)
    )
    known = {passage.doc_id for passage in passages}
    relevant: dict[str, dict[str, int]] = {}
    for query_id, doc_id, grade in judged.select("query_id", "doc_id", "relevance").iter_rows():
        if doc_id not in known:
            raise InvalidRequest(f"a judgement of {query_id!r} names no passage: {doc_id!r}")
        relevant.setdefault(query_id, {})[doc_id] = grade
    return Corpus(
        name=folder.name,
        passages=passages,
        questions=tuple(
            Question(query_id=i, text=text, relevant=tuple(sorted(relevant.get(i, {}).items())))
            for i, text in queries.select("query_id", "text").iter_rows()
        ),
    )


def build_corpus(
    corpus: Corpus, root: Path, settings: Settings, *, progress: Progress | None = None
) -> Path:
    """Build a workspace that holds the passages as books; unchanged content is not built again.

    The text becomes the description. The title is the passage's own, its underscores written as
    spaces; without one it is a number ("p17"), which no question asks for. There is no author.

    Args:
        corpus: what is built.
        root: the workspace goes into a folder of it that is named after name, content and
            tunables.
        settings: how; its tunables are those of the release.
        progress: shows the work.

    Returns:
        The workspace.
    """
    tunables = settings.tunables_hash()[:8]
    folder = root / f"{corpus.name}-{corpus.digest[:12]}-{tunables}"
    source = folder / "source"
    source.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"book_id": number, "title": _title(p, number), "description": p.text},
                   ensure_ascii=False)
        for number, p in enumerate(corpus.passages, 1)
    ]  # fmt: skip
    mapping = source / "source.toml"
    if not mapping.exists():
        write_text(source / "passages.jsonl", "\n".join(lines) + "\n")
        write_text(mapping, _MAPPING.format(passages=len(lines), name=corpus.name))
    workspace = folder / "workspace"
    layout = Layout(workspace.resolve())
    layout.create()
    context = BuildContext(
        layout=layout, settings=settings, clock=utc_now, progress=progress or NoProgress()
    )
    build_all(context, open_store(workspace), mapping)
    return workspace


def write_questions(corpus: Corpus, path: Path) -> int:
    """Write the questions as labelled queries of the search suite.

    Questions about one first passage are a family, and the name of that passage decides the split.

    Returns:
        How many questions were cut to the length of a query.
    """
    numbers = {passage.doc_id: number for number, passage in enumerate(corpus.passages, 1)}
    lines, cut = [], 0
    for question in corpus.questions:
        text = question.text.strip()
        cut += len(text) > QUERY_MAX
        family = question.relevant[0][0] if question.relevant else question.query_id
        line = {
            "case_id": question.query_id,
            "query": text[:QUERY_MAX].strip(),
            "relevant": {str(numbers[doc]): grade for doc, grade in question.relevant},
            "family": family,
            "split": split_of(f"{corpus.name}:{family}"),
        }
        lines.append(json.dumps(line, ensure_ascii=False))
    write_text(path, "\n".join(lines) + "\n")
    return cut


def corpus_suite(corpus: Corpus) -> Suite:
    """Return the search suite with character bigrams as one more system."""
    passages = BigramSearch(corpus.passages)

    def generate(case: Case) -> Output:
        return answer(passages.find(query_of(case)))

    def opened(_: object) -> Generate:
        return generate

    return dataclasses.replace(SEARCH, systems={**SEARCH.systems, BIGRAMS: opened})


class BigramSearch:
    """Finds passages by BM25 (k1 1.5, b 0.75) over their character bigrams, title included.

    Higher score first, then earlier passage; passages without a common bigram are not found.
    """

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._terms: dict[str, int] = {}
        offsets, terms, counts = [0], list[int](), list[int]()
        for passage in passages:
            found: dict[int, int] = {}
            for pair in bigrams(f"{passage.title or ''} {passage.text}"):
                term = self._terms.setdefault(pair, len(self._terms))
                found[term] = found.get(term, 0) + 1
            terms += found.keys()
            counts += found.values()
            offsets.append(len(terms))
        matrix = DocumentTerms(
            offsets=np.array(offsets, dtype=np.int64),
            terms=np.array(terms, dtype=np.int32),
            counts=np.array(counts, dtype=np.int32),
        )
        self._postings = build_postings(matrix, len(self._terms), Bm25())
        self._size = len(passages)

    def find(self, query: str) -> list[int]:
        """Return the numbers of the first passages, best first."""
        scores = np.zeros(self._size)
        for pair in bigrams(query):
            term = self._terms.get(pair)
            if term is not None:
                at = slice(*self._postings.offsets[term : term + 2])
                scores[self._postings.documents[at]] += self._postings.impacts[at]
        rows = np.flatnonzero(scores > 0)
        best = rows[np.lexsort((rows, -scores[rows]))][:K]
        return [int(row) + 1 for row in best]


def _title(passage: Passage, number: int) -> str:
    return passage.title.replace("_", " ") if passage.title else f"p{number}"
