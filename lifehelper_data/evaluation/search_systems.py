"""What is asked in a search evaluation: each leg alone, and the whole search."""

from collections.abc import Sequence
from typing import Any

from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.domain.search.exact_title import title_key
from lifehelper_data.domain.text.normalize import normalize, squash
from lifehelper_data.evaluation.cases import Case
from lifehelper_data.evaluation.suite import Generate, NotApplicable, Output, SuiteContext
from lifehelper_data.runtime.search import SearchEngine
from lifehelper_data.stores.eval_records import Json

K = 10
"""How many results are judged."""


def answer(
    book_ids: Sequence[int], titles: Sequence[str] = (), degraded: str | None = None
) -> Output:
    """Return an output of the search suite: ids best first, titles where they are known."""
    found: dict[str, Json] = {"book_ids": list(book_ids), "degraded": degraded}
    return Output(value=found | {"titles": list(titles)})


def fused(context: SuiteContext) -> Generate:
    """Open the whole search, as it is in service."""
    workspace = context.release
    workspace.search_engine().preload()

    def generate(case: Case) -> Output:
        request: Any = case.input
        response = workspace.search({**request, "size": K})
        return answer(
            [result.book_id for result in response.results],
            [result.title for result in response.results],
            response.degraded,
        )

    return generate


def keyword(context: SuiteContext) -> Generate:
    """Open the keyword leg alone, without the exact-title rule."""
    engine = context.release.search_engine()
    engine.preload()

    def generate(case: Case) -> Output:
        found = keyword_ids(engine, query_of(case))
        return answer(found, titles_of(engine, found))

    return generate


def vector(context: SuiteContext) -> Generate | NotApplicable:
    """Open the vector leg alone, without the exact-title rule."""
    engine = context.release.search_engine()
    engine.preload()
    snapshot = engine.legs.vectors()
    if snapshot is None or not len(snapshot):
        return NotApplicable("the release has no vectors")

    def generate(case: Case) -> Output:
        found = vector_ids(engine, query_of(case))
        return answer(found, titles_of(engine, found))

    return generate


def keyword_ids(engine: SearchEngine, query: str) -> list[int]:
    """Return the first books by words; none for a query without a token."""
    tokens = engine.language.analysed(normalize(query))
    return list(engine.legs.keyword_leg(tokens, lambda _: None).book_ids)[:K]


def vector_ids(engine: SearchEngine, query: str) -> list[int]:
    """Return the first books by meaning; none for a query without a token, as in a search.

    Raises:
        Unavailable: the encoder or the vectors cannot be had.
    """
    asked = normalize(query)
    tokens = engine.language.analysed(asked)
    if not (tokens.words or tokens.bigrams):
        return []
    found = engine.legs.vector_leg(asked, lambda _: None)
    if found is None:
        raise Unavailable("the vector leg cannot answer; run `lifehelper doctor`")
    return list(found.book_ids)[:K]


def exact_ids(engine: SearchEngine, query: str) -> list[int]:
    """Return the books whose title is the query, spaces aside; ascending."""
    asked = normalize(query)
    return engine.catalog.titled(title_key(asked), squash(asked))


def titles_of(engine: SearchEngine, book_ids: Sequence[int]) -> list[str]:
    """Return the titles of books, in their order."""
    rows = engine.catalog.rows(book_ids)
    return [str(rows[book]["title"]) for book in book_ids if book in rows]


def query_of(case: Case) -> str:
    """Return the query of a case."""
    asked: Any = case.input
    return str(asked["query"])
