"""P1: the keyword index beside rank_bm25 and bm25s on one made-up corpus.

The corpus has words drawn by Zipf's law; queries are words of one of its documents; words stand as
they are, because the cost of the Korean analyser is not the question. Before a time is printed:
our Okapi scores equal rank_bm25's to 1e-9 on a sample of the queries, and an incremental index has
the identity of a fresh one.
"""

import importlib
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from benchmarks.kit import (
    Bar,
    Benchmark,
    BenchResult,
    BenchRow,
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
    require_peer,
    timed,
)
from lifehelper_data.domain.ports import Progress
from lifehelper_data.domain.search import KeywordWeights, QueryAnalysis, QueryTokens
from lifehelper_data.domain.search.bm25 import Bm25, Formula
from lifehelper_data.domain.text.bigrams import bigrams
from lifehelper_data.stores.keyword_build import build_keyword_index
from lifehelper_data.stores.keyword_index import KeywordIndex
from lifehelper_data.stores.keyword_reference import RankBm25Engine

TOP: Final = 50
VOCABULARY: Final = 60_000
ZIPF: Final = 1.05
REFERENCE_QUERIES: Final = 7  # rank_bm25 takes 0.2 s for one of 200,000 documents
POSTING_BYTES: Final = 12  # int32 document, float64 impact
EQUAL: Final = 1e-9
OKAPI: Final = Bm25(formula=Formula.OKAPI)
ONE_FIELD: Final = KeywordWeights(title=1, author=0, description=0, bigrams=0)
RANK_BM25_AT_MOST: Final = Bar(of="ratio", at_most=1 / 250)
BM25S_AT_MOST: Final = Bar(of="ratio", at_most=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many documents, queries and rounds."""

    documents: int
    queries: int
    rounds: int


SIZES: Final = {
    Scale.FULL: Size(documents=200_000, queries=200, rounds=5),
    Scale.QUICK: Size(documents=2_000, queries=20, rounds=1),
}


class SplitAtSpaces:
    """Takes words as they stand: the cost of the analyser is not the question here."""

    version = "split-1"

    def content_words(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the words of each text."""
        return [text.split() for text in texts]

    def analyse_query(self, text: str) -> QueryAnalysis:
        """Return the words of a query."""
        return QueryAnalysis(words=tuple(text.split()), bare=text)


def words(rng: np.random.Generator) -> list[str]:
    """Return different words of two to four syllables."""
    found: dict[str, None] = {}
    while len(found) < VOCABULARY:
        codes = rng.integers(0xAC00, 0xAC00 + 600, rng.integers(2, 5))
        found["".join(map(chr, codes))] = None
    return list(found)


def texts(
    rng: np.random.Generator, vocabulary: Sequence[str], n: int, low: int, high: int
) -> Iterator[str]:
    """Yield n texts of low to high - 1 words by Zipf's law."""
    weights = 1.0 / np.arange(1, len(vocabulary) + 1) ** ZIPF
    sizes = rng.integers(low, high, n)
    drawn = rng.choice(len(vocabulary), int(sizes.sum()), p=weights / weights.sum())
    for piece in np.split(drawn, np.cumsum(sizes)[:-1]):
        yield " ".join(vocabulary[at] for at in piece)


def run(scale: Scale, progress: Progress) -> BenchResult:
    """Measure top 50 over one field beside the peers, then build and search over all fields."""
    require_peer("bm25s", "bm25s", "keyword")
    before = load_average()
    size = SIZES[scale]
    with tempfile.TemporaryDirectory() as folder:
        one = one_field(Path(folder) / "one", size, scale, progress)
        every = all_fields(Path(folder) / "all", size, scale, progress)
    return BenchResult(
        rows=(*one[0], *every[0]),
        quality=(one[1], every[1]),
        machine=machine(before),
        notes=(
            f"times of a query: median of {size.rounds} rounds, sides taking turns in one process",
            "bound: the postings of the query's words read once at the memory's measured bandwidth",
            "P7 is judged with the real analyser by `lifehelper bench increments`",
        ),
    )


def one_field(
    folder: Path, size: Size, scale: Scale, progress: Progress
) -> tuple[list[BenchRow], Quality]:
    """Measure top 50 over one field of all documents: ours, rank_bm25, bm25s."""
    bm25s = importlib.import_module("bm25s")  # has no types, and may be absent
    n = size.documents
    rng = np.random.default_rng(1)
    progress.step("one field: documents and indexes", 0, None)
    documents = list(texts(rng, words(rng), n, 8, 40))
    frame = pl.DataFrame({"book_id": range(n), "title": documents}).with_columns(
        pl.lit(None, pl.String).alias("author"), pl.lit(None, pl.String).alias("description")
    )
    index = KeywordIndex.open(
        build_keyword_index(folder, [frame], SplitAtSpaces(), bm25=OKAPI).folder
    )
    split = [text.split() for text in documents]
    queries = []
    for at in rng.integers(0, n, size.queries):
        chosen = rng.choice(split[at], min(len(split[at]), int(rng.integers(2, 5))), False)
        queries.append(QueryTokens(words=tuple(map(str, chosen))))
    few = queries[:REFERENCE_QUERIES]
    reference = RankBm25Engine(index.book_ids, split)
    quality = _equal_scores(index, reference, few)
    peer = bm25s.BM25(k1=OKAPI.k1, b=OKAPI.b, backend="numba")
    peer.index(split, show_progress=False)

    def ours(query: QueryTokens) -> object:
        return index.search(query, TOP, None, ONE_FIELD)

    def theirs(query: QueryTokens) -> object:
        return peer.retrieve([list(query.words)], k=TOP, show_progress=False)

    found = interleaved(
        {
            "ours": lambda: each_ms(ours, queries),
            "bm25s": lambda: each_ms(theirs, queries),
            "ours_few": lambda: each_ms(ours, few),
            "rank_bm25": lambda: each_ms(lambda query: reference.search(query, TOP), few),
        },
        size.rounds,
        progress,
    )
    bound = _bound_ms(split, queries)
    named = f"top {TOP} of {n:,} documents"
    rows = [
        measured(
            f"{named}, p50 of {len(few)} queries", "ms",
            median_percentile(found["ours_few"], 50), scale=scale,
            peer_name="rank_bm25", peer=median_percentile(found["rank_bm25"], 50),
            bar=RANK_BM25_AT_MOST,
        )
    ]  # fmt: skip
    rows += [
        measured(
            f"{named}, p{percent} of {len(queries)} queries", "ms",
            median_percentile(found["ours"], percent), scale=scale,
            peer_name="bm25s+numba", peer=median_percentile(found["bm25s"], percent),
            bound=float(np.percentile(bound, percent)), bar=BM25S_AT_MOST,
        )
        for percent in (50, 95)
    ]  # fmt: skip
    return rows, quality


def all_fields(
    folder: Path, size: Size, scale: Scale, progress: Progress
) -> tuple[list[BenchRow], Quality]:
    """Measure build, opening and search over all five fields, with 23 % descriptions."""
    n = size.documents
    rng = np.random.default_rng(2)
    progress.step("all fields: documents and indexes", 0, None)
    vocabulary = words(rng)
    described = rng.random(n) < 0.23
    long = list(texts(rng, vocabulary, n, 30, 70))
    frame = pl.DataFrame(
        {
            "book_id": range(n),
            "title": list(texts(rng, vocabulary, n, 2, 8)),
            "author": list(texts(rng, vocabulary, n, 1, 3)),
            "description": [t if d else None for t, d in zip(long, described, strict=True)],
        }
    )
    changed = frame.with_columns(
        pl.when(pl.col("book_id") % 100 == 0)
        .then(pl.col("title") + " 개정판")
        .otherwise(pl.col("title"))
        .alias("title")
    )
    analyser = SplitAtSpaces()
    fresh = build_keyword_index(folder / "a", [frame], analyser)
    step = build_keyword_index(
        folder / "a", [changed], analyser, previous=KeywordIndex.open(fresh.folder)
    )
    again = build_keyword_index(folder / "b", [changed], analyser)
    quality = require(
        f"identity of an incremental index, {step.analysed:,} texts analysed",
        step.identity[:12],
        f"a fresh one's, {again.identity[:12]}",
        holds=step.identity == again.identity,
    )
    index = KeywordIndex.open(step.folder)
    tokens = []
    for title in changed["title"].sample(size.queries, seed=3):
        query = " ".join(title.split()[:3])
        tokens.append(QueryTokens(words=tuple(query.split()), bigrams=tuple(bigrams(query))))
    few = index.mask(index.book_ids[:: max(n // 200, 1)])
    found = interleaved(
        {
            "search": lambda: each_ms(lambda q: index.search(q, TOP), tokens),
            "filtered": lambda: each_ms(lambda q: index.search(q, TOP, few), tokens),
            "open": lambda: [1000 * timed(lambda: KeywordIndex.open(step.folder))],
        },
        size.rounds,
        progress,
    )
    named = f"five fields, {n:,} books"
    rows = [
        measured(f"{named}: fresh index", "s", fresh.seconds, scale=scale),
        measured(
            f"{named}: index with 1 % changed", "s", step.seconds, scale=scale,
            peer_name="fresh index", peer=fresh.seconds,
        ),
        measured(f"{named}: size", "MB", step.size_bytes / 1e6, scale=scale),
        measured(f"{named}: open", "ms", median_percentile(found["open"], 50), scale=scale),
    ]  # fmt: skip
    rows += [
        measured(
            f"{named}: {what}, p{percent}", "ms",
            median_percentile(found[side], percent), scale=scale,
        )
        for side, what in (("search", "top 50"), ("filtered", "top 50, filtered to 200"))
        for percent in (50, 95)
    ]  # fmt: skip
    return rows, quality


def _equal_scores(
    index: KeywordIndex, reference: RankBm25Engine, queries: Sequence[QueryTokens]
) -> Quality:
    largest = 0.0
    for query in queries:
        ours, theirs = index.search(query, TOP, None, ONE_FIELD), reference.search(query, TOP)
        same = ours[0].tolist() == theirs[0].tolist()
        largest = max(largest, float(np.abs(ours[1] - theirs[1]).max()) if same else np.inf)
    return require(
        f"largest difference from rank_bm25's Okapi, same books in the same order, "
        f"{len(queries)} queries",
        largest,
        f"<= {EQUAL:g}",
        holds=largest <= EQUAL,
    )


def _bound_ms(split: Sequence[Sequence[str]], queries: Sequence[QueryTokens]) -> list[float]:
    """Return per query the milliseconds of reading its words' postings once."""
    wanted = {word for query in queries for word in query.words}
    frequency = Counter(word for words in split for word in wanted.intersection(words))
    speed = bandwidth_bytes_per_s() / 1000
    return [POSTING_BYTES * sum(frequency[w] for w in query.words) / speed for query in queries]


BENCHMARK: Final = Benchmark(
    name="keyword",
    question="How fast does the keyword index find the 50 best of 200,000 documents?",
    bar=">= 250x rank_bm25 with scores equal to 1e-9; not slower than bm25s+numba",
    run=run,
)
