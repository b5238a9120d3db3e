"""P3: a whole hybrid search, without the query's encoder, beside LanceDB's own.

A made-up shop is built with the real builders and searched with the real engine: Korean analysis,
both legs, fusion, exact titles, and the rows of the page. Only the query's vector is given. LanceDB
holds the same texts and vectors and answers with its own full text, an index over the vectors and
reciprocal rank fusion. Before a time is printed: our vector leg equals float64, LanceDB's index
reaches its recall, and we find the book that a query was made from no less often than LanceDB does.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks._shop import Shop
from benchmarks._vectors import (
    ROW_BYTES,
    GivenVectors,
    Ints,
    LanceTable,
    Vectors,
    queries_near,
    sentence_like,
    snapshot_of,
    true_top,
)
from benchmarks.kit import (
    Bar,
    Benchmark,
    BenchResult,
    Quality,
    Scale,
    bandwidth_bytes_per_s,
    each_ms,
    interleaved,
    load_average,
    machine,
    measured,
    median_percentile,
    require,
)
from lifehelper_data.domain.ports import Progress
from lifehelper_data.domain.text.normalize import normalize
from lifehelper_data.pipelines.build_catalog import build_catalog
from lifehelper_data.pipelines.build_keyword import BOOKS, build_keyword
from lifehelper_data.pipelines.build_popularity import build_popularity
from lifehelper_data.pipelines.build_release import publish_release
from lifehelper_data.pipelines.build_tables import build_tables
from lifehelper_data.pipelines.compose import compose_release
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.runtime.requests import SearchRequest
from lifehelper_data.runtime.search import SearchEngine
from lifehelper_data.runtime.workspace import utc_now
from lifehelper_data.settings import Settings
from lifehelper_data.stores.keyword_index import KeywordIndex
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.releases import ReleaseStore
from lifehelper_data.stores.search_catalog import SHOWN_COLUMNS, SearchCatalog
from lifehelper_data.stores.sessions import build_session
from lifehelper_data.stores.vector_snapshot import VectorSnapshot

PAGE: Final = 15
POOL: Final = 50  # of either leg of LanceDB; ours takes 200 and 50
DESCRIBED: Final = 0.23
AT_MOST: Final = Bar(of="ratio", at_most=0.5)
PEER: Final = "LanceDB hybrid + RRF"


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many books, queries and rounds."""

    books: int
    queries: int
    rounds: int


SIZES: Final = {
    Scale.FULL: Size(books=200_000, queries=60, rounds=5),
    Scale.QUICK: Size(books=2_500, queries=10, rounds=1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One search.

    Attributes:
        made_from: the book that it was made from.
        text: words of its title.
        vector: float32 (dim,), near the book's.
    """

    made_from: int
    text: str
    vector: Vectors


def run(scale: Scale, progress: Progress) -> BenchResult:
    """Measure whole searches of both."""
    before = load_average()
    size = SIZES[scale]
    progress.step("books and vectors", 0, None)
    shop = Shop.of_size(size.books, round(DESCRIBED * size.books), seed=1)
    ids = np.array(sorted(shop.titles), dtype=np.int64)
    vectors = sentence_like(size.books, seed=1)
    queries = _queries(shop, ids, vectors, size.queries)
    with tempfile.TemporaryDirectory() as name, snapshot_of(vectors, ids) as snapshot:
        folder = Path(name)
        progress.step("tables and keyword index", 0, None)
        with _engine(folder, shop, snapshot, queries) as engine:
            progress.step("LanceDB's indexes", 0, None)
            theirs, reached = _lance(folder / "lance", shop, vectors, queries)
            quality = [
                _vector_leg(snapshot, ids, vectors, queries),
                reached,
                *_found(engine, theirs, queries),
            ]
            pages = [_search(engine, query) for query in queries]
            times = interleaved(
                {
                    "ours": lambda: each_ms(lambda query: _search(engine, query), queries),
                    "theirs": lambda: each_ms(theirs, queries),
                    "vector": lambda: each_ms(lambda q: snapshot.search(q.vector, POOL), queries),
                    "rows": lambda: each_ms(engine.catalog.rows, pages),
                },
                size.rounds,
                progress,
            )
    named = f"page of {PAGE}, {size.books:,} books"
    rows = [
        measured(
            f"{named}, p{percent}", "ms", median_percentile(times["ours"], percent), scale=scale,
            peer_name=PEER, peer=median_percentile(times["theirs"], percent),
            bar=AT_MOST if percent == 95 else None,
        )
        for percent in (50, 95)
    ]  # fmt: skip
    scanned = 1000 * ROW_BYTES * size.books / bandwidth_bytes_per_s()
    rows += [
        measured(
            f"of which {what}, p95", "ms", median_percentile(times[side], 95), scale=scale,
            bound=bound,
        )
        for side, what, bound in (
            ("vector", "the vector leg", scanned),
            ("rows", "reading the rows of the page", None),
        )
    ]  # fmt: skip
    return BenchResult(
        rows=tuple(rows),
        quality=tuple(quality),
        machine=machine(before),
        notes=(
            f"times of a search: median of {size.rounds} rounds, sides taking turns in one process",
            "ours: Korean analysis, 200 by keyword, 50 by vector, fusion, exact titles, rows of "
            "the page; without the query's encoder",
            f"LanceDB: full text by its 'simple' tokenizer, IVF_FLAT, {POOL} per leg, RRF, the "
            "same columns",
            "bound of the vector leg: one byte per number, read once at the memory's bandwidth",
        ),
    )


def _queries(shop: Shop, ids: Ints, vectors: Vectors, count: int) -> list[Query]:
    """Return queries of different texts: a title's words and a vector near its book's."""
    rng = np.random.default_rng(4)
    found: dict[str, Query] = {}
    for row in rng.permutation(len(ids)).tolist():
        text = " ".join(shop.titles[int(ids[row])].split()[:3])
        near = queries_near(vectors[row : row + 1], 1, seed=row)[0]
        query = Query(made_from=int(ids[row]), text=text, vector=near)
        found.setdefault(normalize(text), query)
        if len(found) == count:
            break
    return list(found.values())


@contextmanager
def _engine(
    folder: Path, shop: Shop, snapshot: VectorSnapshot, queries: Sequence[Query]
) -> Iterator[SearchEngine]:
    """Build a release without vectors and yield a search engine over it and a snapshot."""
    layout = Layout(folder / "workspace")
    layout.create()
    context = BuildContext(layout=layout, settings=Settings(), clock=utc_now)
    store = ReleaseStore(layout, utc_now, time.sleep)
    with build_session(layout, utc_now):
        tables = build_tables(context, shop.write(folder / "shop"))
        catalog = build_catalog(context, tables.record.tables)
        indexed = {**tables.record.tables, **catalog.record.tables}
        derived = [build_popularity(context, indexed), build_keyword(context, indexed)]
        content = compose_release(
            context, [report.record for report in (tables, catalog, *derived)]
        )
        release = publish_release(context, store, content).release
    with store.open(release.number) as reader:
        yield SearchEngine(
            release_id=reader.number,
            catalog=SearchCatalog.open(reader),
            open_keyword=lambda: KeywordIndex.open(layout.root / content.artifacts[BOOKS].path),
            open_vectors=lambda: snapshot,
            load_encoder=lambda: GivenVectors({query.text: query.vector for query in queries}),
            tunables=context.settings.search,
        )


def _lance(
    folder: Path, shop: Shop, vectors: Vectors, queries: Sequence[Query]
) -> tuple[Callable[[Query], list[int]], Quality]:
    """Return LanceDB's hybrid search over the same books."""
    import pyarrow as pa
    from lancedb.index import FTS
    from lancedb.rerankers import RRFReranker

    ids = sorted(shop.titles)
    authors = [f"저자 {book % 997}" for book in ids]
    columns = {
        "book_id": pa.array(ids),
        "title": pa.array([shop.titles[book] for book in ids]),
        "author": pa.array(authors),
        "publisher": pa.nulls(len(ids), pa.utf8()),
        "price": pa.array([9000 + book % 20_000 for book in ids]),
        "in_stock": pa.array([True] * len(ids)),
        "cover_url": pa.nulls(len(ids), pa.utf8()),
        "text": pa.array(
            f"{shop.titles[book]} {author} {shop.descriptions.get(book, '')}"
            for book, author in zip(ids, authors, strict=True)
        ),
    }
    indexed = LanceTable(folder, columns, vectors, [query.vector for query in queries])
    words = FTS(base_tokenizer="simple", stem=False, remove_stop_words=False, with_position=False)
    indexed.table.create_index("text", config=words)
    reranker = RRFReranker()

    def search(query: Query) -> list[int]:
        asked = indexed.table.search(
            query_type="hybrid", vector_column_name="vector", fts_columns="text"
        )
        asked = asked.vector(query.vector).text(query.text).distance_type("dot")
        fused = asked.nprobes(indexed.probes).rerank(reranker).limit(POOL)
        page = fused.select(list(SHOWN_COLUMNS)).to_arrow().slice(0, PAGE)
        return [int(row["book_id"]) for row in page.to_pylist()]

    return search, indexed.reached


def _search(engine: SearchEngine, query: Query) -> list[int]:
    response = engine.search(SearchRequest(query=query.text, size=PAGE))
    return [result.book_id for result in response.results]


def _vector_leg(
    snapshot: VectorSnapshot, ids: Ints, vectors: Vectors, queries: Sequence[Query]
) -> Quality:
    equal = sum(
        snapshot.search(query.vector, POOL)[0].tolist()
        == ids[true_top(vectors, query.vector, POOL)].tolist()
        for query in queries
    )
    return require(
        f"queries whose vector leg is float64's first {POOL} in its order",
        f"{equal} of {len(queries)}",
        "all",
        holds=equal == len(queries),
    )


def _found(
    engine: SearchEngine, theirs: Callable[[Query], list[int]], queries: Sequence[Query]
) -> list[Quality]:
    """Require that nothing is degraded and that the books asked for are found."""
    responses = [engine.search(SearchRequest(query=q.text, size=PAGE)) for q in queries]
    degraded = sum(response.degraded is not None for response in responses)
    ours = sum(q.made_from in _search(engine, q) for q in queries) / len(queries)
    peer = sum(q.made_from in theirs(q) for q in queries) / len(queries)
    return [
        require("searches degraded", degraded, "0", holds=degraded == 0),
        require(
            f"books that queries were made from among the first {PAGE}",
            round(ours, 3),
            f">= LanceDB's, {peer:.3f}",
            holds=ours >= peer,
        ),
    ]


BENCHMARK: Final = Benchmark(
    name="hybrid",
    question="How long does a whole hybrid search of 200,000 books take?",
    bar="p95 <= 0.5x LanceDB's hybrid + RRF on an index of recall >= 0.98, without the encoder",
    run=run,
)
