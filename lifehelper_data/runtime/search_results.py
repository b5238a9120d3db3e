"""What a search answers."""

from dataclasses import dataclass

from lifehelper_data.stores.keyword_index import TokenMatch


@dataclass(frozen=True, slots=True, kw_only=True)
class LegReason:
    """Where one leg placed a book.

    Attributes:
        leg: keyword or vector.
        rank: its place there, from 1.
        score: the leg's own score: weighted BM25, or cosine.
        contribution: weight / (k + rank), what it adds to the fused score.
    """

    leg: str
    rank: int
    score: float
    contribution: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchExplanation:
    """Why a book stands where it stands.

    Attributes:
        fused_score: sum over legs of weight / (k + rank), and the popularity term.
        legs: rank and score of each leg that found it.
        matched: the tokens found, by field, with their share of the keyword score.
        exact_title: whether the exact-title rule moved it to the front.
        popularity_term: what the boost by popularity added to the fused score.
        sort_value: year, price or popularity that a sort rule ordered it by; None without a rule,
            or where it is unknown.
        relevance_rank: its place by relevance where a sort rule moved it; None without a rule.
    """

    fused_score: float
    legs: tuple[LegReason, ...]
    matched: tuple[TokenMatch, ...]
    exact_title: bool
    popularity_term: float = 0.0
    sort_value: float | None = None
    relevance_rank: int | None = None

    def to_dict(self) -> dict[str, object]:
        """Return it JSON-ready."""
        return {
            "fused_score": self.fused_score,
            "legs": {
                leg.leg: {"rank": leg.rank, "score": leg.score, "contribution": leg.contribution}
                for leg in self.legs
            },
            "matched": [
                {
                    "field": str(match.field),
                    "token": match.token,
                    "contribution": match.contribution,
                }
                for match in self.matched
            ],
            "exact_title": self.exact_title,
            "popularity_term": self.popularity_term,
            "sort_value": self.sort_value,
            "relevance_rank": self.relevance_rank,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """One book found. Prices in won."""

    book_id: int
    title: str
    author: str | None
    publisher: str | None
    price: int | None
    in_stock: bool
    cover_url: str | None
    explanation: SearchExplanation | None = None

    def to_dict(self) -> dict[str, object]:
        """Return it JSON-ready; without an explanation the key is absent."""
        shown: dict[str, object] = {
            "book_id": self.book_id,
            "title": self.title,
            "author": self.author,
            "publisher": self.publisher,
            "price": self.price,
            "in_stock": self.in_stock,
            "cover_url": self.cover_url,
        }
        if self.explanation is not None:
            shown["explanation"] = self.explanation.to_dict()
        return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedPage:
    """One page of a ranking, before it has a cursor.

    Attributes:
        results: best first.
        fallback: a Korean sentence that offers the conversation; None unless nothing was found.
        degraded: "keyword-only" if the vector leg could not answer.
        more: whether the ranking goes on.
    """

    results: tuple[SearchResult, ...]
    fallback: str | None
    degraded: str | None
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResponse:
    """The answer to a search.

    Attributes:
        results: best first.
        next_cursor: where the next page begins; None on the last.
        fallback: a Korean sentence that offers the conversation; None unless nothing was found.
        degraded: "keyword-only" if the vector leg could not answer.
        release_id: the release it was answered from.
    """

    results: tuple[SearchResult, ...]
    next_cursor: str | None
    fallback: str | None
    degraded: str | None
    release_id: int

    def to_dict(self) -> dict[str, object]:
        """Return it JSON-ready."""
        return {
            "results": [result.to_dict() for result in self.results],
            "next_cursor": self.next_cursor,
            "fallback": None if self.fallback is None else {"message": self.fallback},
            "degraded": self.degraded,
            "release_id": self.release_id,
        }
