"""The two legs of a hybrid search over one index and one set of vectors, loaded on first use."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from lifehelper_data.domain.errors import NotFound, Unavailable
from lifehelper_data.domain.search import KeywordWeights, QueryTokens, analyse_query
from lifehelper_data.domain.search.filters import Mask
from lifehelper_data.domain.search.fusion import LegRanking
from lifehelper_data.models.encoder import Encoder
from lifehelper_data.models.korean import KoreanAnalyser
from lifehelper_data.settings import SearchTunables
from lifehelper_data.stores.keyword_index import KeywordIndex
from lifehelper_data.stores.keyword_reference import RankBm25Fields
from lifehelper_data.stores.vector_snapshot import VectorSnapshot

T = TypeVar("T")

KEYWORD = "keyword"
VECTOR = "vector"


class Once:
    """Makes each named thing once, also when several threads ask."""

    def __init__(self) -> None:
        self._made: dict[str, object] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def get(self, name: str, make: Callable[[], T]) -> T:
        """Return the thing called `name`, made by `make` at the first call."""
        with self._guard:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            if name not in self._made:
                self._made[name] = make()
            return self._made[name]  # type: ignore[return-value]  # one type per name


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """Analyser and encoder, shared by everything that searches one release.

    Attributes:
        load_encoder: loads the encoder for queries.
    """

    load_encoder: Callable[[], Encoder]
    _once: Once = field(default_factory=Once, init=False)

    def analysed(self, query: str) -> QueryTokens:
        """Return the tokens of a normalised query."""
        return analyse_query(query, self._once.get("analyser", KoreanAnalyser))

    def encoder(self) -> Encoder:
        """Return the encoder.

        Raises:
            Unavailable: it cannot be loaded.
        """
        return self._once.get("encoder", self.load_encoder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Legs:
    """Keyword index and vectors of one kind of item.

    Attributes:
        language: analyser and encoder.
        open_keyword: opens the keyword index; Unavailable if the release has none.
        open_vectors: opens the vectors; None if the release has none.
        tunables: pools and weights.
    """

    language: Language
    open_keyword: Callable[[], KeywordIndex | RankBm25Fields]
    open_vectors: Callable[[], VectorSnapshot | None]
    tunables: SearchTunables
    _once: Once = field(default_factory=Once, init=False)

    def preload(self) -> None:
        """Load the analyser, the encoder and both indexes side by side."""
        with ThreadPoolExecutor(max_workers=3) as pool:
            loading: list[Future[object]] = [
                pool.submit(self.language.analysed, "책"),
                pool.submit(self._encoded_or_none, "책"),
                pool.submit(self.keyword),
            ]
            for leg in loading:
                leg.result()

    def keyword(self) -> KeywordIndex | RankBm25Fields:
        """Return the keyword index.

        Raises:
            Unavailable: it cannot be read.
        """
        return self._once.get("keyword", self.open_keyword)

    def vectors(self) -> VectorSnapshot | None:
        """Return the vectors; None if the release has none."""
        return self._once.get("vectors", self.open_vectors)

    def keyword_leg(
        self, tokens: QueryTokens, aligned: Callable[["KeywordIndex | RankBm25Fields"], Mask | None]
    ) -> LegRanking:
        """Rank by words.

        Args:
            tokens: the query's tokens.
            aligned: returns the filter as a mask over the index's items.
        """
        index = self.keyword()
        ids, scores = index.search(tokens, self.tunables.keyword_pool, aligned(index), self.weights)
        return LegRanking(
            leg=KEYWORD,
            weight=self.tunables.keyword_weight,
            book_ids=ids.tolist(),
            scores=scores.tolist(),
        )

    def vector_leg(
        self, query: str, aligned: Callable[[VectorSnapshot], Mask | None]
    ) -> LegRanking | None:
        """Rank by meaning; None if the encoder or the vectors cannot be had.

        Args:
            query: the normalised query.
            aligned: returns the filter as a mask over the vectors' items.
        """
        try:
            snapshot = self.vectors()
            if snapshot is None or not len(snapshot.item_ids):
                return None
            vector = self.language.encoder().encode_queries([query])[0]
        except (NotFound, Unavailable):
            return None
        ids, cosines = snapshot.search(vector, self.tunables.vector_pool, aligned(snapshot))
        return LegRanking(
            leg=VECTOR,
            weight=self.tunables.vector_weight,
            book_ids=ids.tolist(),
            scores=cosines.tolist(),
        )

    @property
    def weights(self) -> KeywordWeights:
        """BM25 weights of the fields."""
        return KeywordWeights(
            title=self.tunables.title_weight,
            author=self.tunables.author_weight,
            description=self.tunables.description_weight,
            bigrams=self.tunables.bigram_weight,
        )

    def _encoded_or_none(self, query: str) -> object:
        try:
            self.vectors()
            return self.language.encoder().encode_queries([query])
        except (NotFound, Unavailable):
            return None  # the search itself says so
