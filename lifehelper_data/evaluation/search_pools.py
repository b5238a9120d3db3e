"""Leg rankings of many queries, found once and deep, so that fusions can be tried in numpy."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from lifehelper_data.domain.errors import InvalidRequest, Unavailable
from lifehelper_data.domain.ports import NoProgress, Progress
from lifehelper_data.domain.search import KeywordWeights, QueryTokens
from lifehelper_data.domain.text.normalize import normalize
from lifehelper_data.evaluation.search_systems import exact_ids
from lifehelper_data.runtime.search import SearchEngine
from lifehelper_data.stores.keyword_index import KeywordIndex
from lifehelper_data.stores.keyword_reference import RankBm25Fields

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

KEYWORD_DEPTH: Final = 500
VECTOR_DEPTH: Final = 200
ABSENT: Final = np.inf
"""Rank of a book that a leg did not find: weight / (k + rank) is 0."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """What the legs found, one row per query and book; by query, then by book_id.

    Attributes:
        n_queries: how many queries; some may have no row.
        query: int64 (n,), position of the query.
        book_ids: int64 (n,).
        keyword_rank: float64 (n,), from 1; inf where the leg did not find the book.
        vector_rank: float64 (n,), the same.
        exact: bool (n,), whether the book's title is the query.
    """

    n_queries: int
    query: Ints
    book_ids: Ints
    keyword_rank: Floats
    vector_rank: Floats
    exact: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ranked:
    """One leg's rankings of all queries, one after the other.

    Attributes:
        query: int64 (n,), position of the query, ascending.
        book_ids: int64 (n,), best first within a query.
        rank: int64 (n,), from 1 within a query.
    """

    query: Ints
    book_ids: Ints
    rank: Ints

    @classmethod
    def of(cls, lists: Sequence[Ints]) -> Self:
        """Return the rankings of some lists of ids."""
        sizes = [len(found) for found in lists]
        ranks = [np.arange(1, size + 1, dtype=np.int64) for size in sizes]
        nothing = np.zeros(0, dtype=np.int64)
        return cls(
            query=np.repeat(np.arange(len(lists), dtype=np.int64), sizes),
            book_ids=np.concatenate([nothing, *lists]),
            rank=np.concatenate([nothing, *ranks]),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryPools:
    """Queries with what does not depend on weights; keyword rankings are found per weights.

    Attributes:
        queries: the queries, as asked.
        tokens: what each was read as.
        vector: the vector leg's rankings; without a row where a query has no token, as in a search.
        exact: books whose title is the query, in no rank order.
        index: the keyword index.
        keyword_depth: books the keyword leg delivers per query.
        vector_depth: books the vector leg delivered per query.
    """

    queries: tuple[str, ...]
    tokens: tuple[QueryTokens, ...]
    vector: Ranked
    exact: Ranked
    index: KeywordIndex | RankBm25Fields
    keyword_depth: int
    vector_depth: int
    _candidates: dict[KeywordWeights, Candidates] = field(default_factory=dict, init=False)

    def candidates(self, weights: KeywordWeights) -> Candidates:
        """Return what both legs find under some field weights; found once per weights."""
        if weights not in self._candidates:
            lists = [
                self.index.search(tokens, self.keyword_depth, None, weights)[0]
                for tokens in self.tokens
            ]
            keyword = Ranked.of(lists)
            self._candidates[weights] = joined(keyword, self.vector, self.exact, len(lists))
        return self._candidates[weights]


def ask_legs(
    engine: SearchEngine,
    queries: Sequence[str],
    *,
    keyword_depth: int = KEYWORD_DEPTH,
    vector_depth: int = VECTOR_DEPTH,
    progress: Progress | None = None,
) -> QueryPools:
    """Analyse and embed every query once, one by one as a search does.

    Raises:
        InvalidRequest: a depth below 1.
        Unavailable: the keyword index, the vectors or the encoder cannot be had.
    """
    for name, depth in (("keyword_depth", keyword_depth), ("vector_depth", vector_depth)):
        if depth < 1:
            raise InvalidRequest(f"{name} = {depth!r}: ask for at least one book", field=name)
    shown = progress or NoProgress()
    snapshot = engine.legs.vectors()
    if snapshot is None or not len(snapshot):
        raise Unavailable("the release has no vectors; set run.search_assets and build again")
    encoder = engine.language.encoder()
    tokens, nearest, exact = [], [], []
    for position, query in enumerate(queries):
        shown.step("asking the legs", position, len(queries))
        asked = normalize(query)
        read = engine.language.analysed(asked)
        tokens.append(read)
        exact.append(np.array(exact_ids(engine, query), dtype=np.int64))
        if read.words or read.bigrams:
            vector = encoder.encode_queries([asked])[0]
            nearest.append(snapshot.search(vector, vector_depth)[0])
        else:
            nearest.append(np.zeros(0, dtype=np.int64))
    return QueryPools(
        queries=tuple(queries),
        tokens=tuple(tokens),
        vector=Ranked.of(nearest),
        exact=Ranked.of(exact),
        index=engine.legs.keyword(),
        keyword_depth=keyword_depth,
        vector_depth=vector_depth,
    )


def joined(keyword: Ranked, vector: Ranked, exact: Ranked, n_queries: int) -> Candidates:
    """Join three lists of (query, book) into one row per pair."""
    pairs = np.column_stack(
        [
            np.concatenate([each.query for each in (keyword, vector, exact)]),
            np.concatenate([each.book_ids for each in (keyword, vector, exact)]),
        ]
    )
    rows, where = np.unique(pairs, axis=0, return_inverse=True)
    where = where.reshape(-1)
    of_keyword, of_vector, of_exact = np.split(
        where, np.cumsum([len(keyword.query), len(vector.query)])
    )
    keyword_rank = np.full(len(rows), ABSENT)
    keyword_rank[of_keyword] = keyword.rank
    vector_rank = np.full(len(rows), ABSENT)
    vector_rank[of_vector] = vector.rank
    titled = np.zeros(len(rows), dtype=np.bool_)
    titled[of_exact] = True
    return Candidates(
        n_queries=n_queries,
        query=rows[:, 0],
        book_ids=rows[:, 1],
        keyword_rank=keyword_rank,
        vector_rank=vector_rank,
        exact=titled,
    )
