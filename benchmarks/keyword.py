"""P1 and P7 for the keyword index: ours beside rank_bm25 and bm25s on one generated corpus.

Usage: python benchmarks/keyword.py [--documents 200000] [--queries 200] [--json]

The corpus has words drawn by Zipf's law; queries are words of one of its documents. Before a time
is printed: our Okapi scores equal rank_bm25's to 1e-9 on a sample of the queries, and an
incremental index has the identity of a fresh one. bm25s is measured if it is installed.
"""

import argparse
import importlib.util
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from lifehelper_data.domain.search import KeywordWeights, QueryAnalysis, QueryTokens
from lifehelper_data.domain.search.bm25 import Bm25, Formula
from lifehelper_data.domain.text.bigrams import bigrams
from lifehelper_data.stores.keyword_build import build_keyword_index
from lifehelper_data.stores.keyword_index import KeywordIndex
from lifehelper_data.stores.keyword_reference import RankBm25Engine

TOP: Final = 50
VOCABULARY: Final = 60_000
ZIPF: Final = 1.05
REFERENCE_QUERIES: Final = 7
OKAPI: Final = Bm25(formula=Formula.OKAPI)
ONE_FIELD: Final = KeywordWeights(title=1, author=0, description=0, bigrams=0)


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


def milliseconds(work: Callable[[Any], object], queries: Sequence[Any]) -> dict[str, float]:
    """Return p50 and p95 of the time per query, after one warm-up."""
    work(queries[0])
    taken = []
    for query in queries:
        started = time.perf_counter()
        work(query)
        taken.append(1000 * (time.perf_counter() - started))
    p50, p95 = np.percentile(taken, [50, 95])
    return {"p50_ms": round(float(p50), 4), "p95_ms": round(float(p95), 4)}


def one_field(folder: Path, n: int, n_queries: int) -> dict[str, object]:
    """Measure top 50 over one field of all documents: ours, rank_bm25, bm25s."""
    rng = np.random.default_rng(1)
    documents = list(texts(rng, words(rng), n, 8, 40))
    analyser = SplitAtSpaces()
    frame = pl.DataFrame({"book_id": range(n), "title": documents}).with_columns(
        pl.lit(None, pl.String).alias("author"), pl.lit(None, pl.String).alias("description")
    )
    built = build_keyword_index(folder, [frame], analyser, bm25=OKAPI)
    index = KeywordIndex.open(built.folder)
    queries = []
    for at in rng.integers(0, n, n_queries):
        has = documents[at].split()
        queries.append(tuple(rng.choice(has, min(len(has), int(rng.integers(2, 5))), False)))
    tokens = [QueryTokens(words=tuple(map(str, query))) for query in queries]

    split = [text.split() for text in documents]
    reference = RankBm25Engine(index.book_ids, split)
    for query in tokens[:REFERENCE_QUERIES]:
        ours, theirs = index.search(query, TOP, None, ONE_FIELD), reference.search(query, TOP)
        if ours[0].tolist() != theirs[0].tolist() or not np.allclose(
            ours[1], theirs[1], rtol=0, atol=1e-9
        ):
            raise SystemExit(f"scores differ from rank_bm25 for {query.words!r}")
    result: dict[str, Any] = {
        "build_s": round(built.seconds, 2),
        "ours": milliseconds(lambda q: index.search(q, TOP, None, ONE_FIELD), tokens),
        "rank_bm25": milliseconds(lambda q: reference.search(q, TOP), tokens[:REFERENCE_QUERIES]),
    }
    if importlib.util.find_spec("bm25s") is not None:
        import bm25s

        peer = bm25s.BM25(k1=OKAPI.k1, b=OKAPI.b, backend="numba")
        peer.index(split, show_progress=False)
        result["bm25s_numba"] = milliseconds(
            lambda q: peer.retrieve([list(q.words)], k=TOP, show_progress=False), tokens
        )
        result["ratio_to_bm25s"] = round(
            result["ours"]["p50_ms"] / result["bm25s_numba"]["p50_ms"], 3
        )
    result["times_rank_bm25"] = round(result["rank_bm25"]["p50_ms"] / result["ours"]["p50_ms"])
    return result


def all_fields(folder: Path, n: int, n_queries: int) -> dict[str, object]:
    """Measure build, opening and search over all five fields, with 23 % descriptions."""
    rng = np.random.default_rng(2)
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
    if step.identity != again.identity:
        raise SystemExit("an incremental index differs from a fresh one")
    started = time.perf_counter()
    index = KeywordIndex.open(step.folder)
    opened = time.perf_counter() - started
    tokens = []
    for title in changed["title"].sample(n_queries, seed=3):
        query = " ".join(title.split()[:3])
        tokens.append(QueryTokens(words=tuple(query.split()), bigrams=tuple(bigrams(query))))
    few = index.mask(index.book_ids[:: max(n // 200, 1)])
    return {
        "fresh_s": round(fresh.seconds, 2),
        "one_percent_changed_s": round(step.seconds, 2),
        "size_mb": round(step.size_bytes / 1e6, 1),
        "open_ms": round(1000 * opened, 2),
        "search": milliseconds(lambda q: index.search(q, TOP), tokens),
        "search_filtered_to_200": milliseconds(lambda q: index.search(q, TOP, few), tokens),
    }


def main() -> None:
    """Run both and print one JSON document or one line per figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = {
            "documents": chosen.documents,
            "one_field": one_field(Path(folder) / "one", chosen.documents, chosen.queries),
            "all_fields": all_fields(Path(folder) / "all", chosen.documents, chosen.queries),
        }
    if chosen.json:
        sys.stdout.write(json.dumps(result) + "\n")
        return
    for name, value in result.items():
        for key, figure in value.items() if isinstance(value, dict) else [("", value)]:
            sys.stdout.write(f"{name} {key}: {figure}\n")


if __name__ == "__main__":
    main()
