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
    """

    leg: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchExplanation:
    """Why a book stands where it stands.

    Attributes:
        fused_score: sum over legs of weight / (k + rank).
        legs: rank and score of each leg that found it.
        matched: the tokens found, by field, with their share of the keyword score.
        exact_title: whether the exact-title rule moved it to the front.
    """

    fused_score: float
    legs: tuple[LegReason, ...]
    matched: tuple[TokenMatch, ...]
    exact_title: bool

    def to_dict(self) -> dict[str, object]:
        """Return it JSON-ready."""
        return {
            "fused_score": self.fused_score,
            "legs": {leg.leg: {"rank": leg.rank, "score": leg.score} for leg in self.legs},
            "matched": [
                {
                    "field": str(match.field),
                    "token": match.token,
                    "contribution": match.contribution,
                }
                for match in self.matched
            ],
            "exact_title": self.exact_title,
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
