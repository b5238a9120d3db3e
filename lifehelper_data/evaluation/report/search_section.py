"""The section of the page on sample searches: what was found, and why it stands there."""

from lifehelper_data.evaluation.report.content import PageContent
from lifehelper_data.evaluation.report.markup import (
    Html,
    code,
    escape,
    heading,
    join,
    korean,
    korean_text,
    note,
    number,
    paragraph,
    table,
)
from lifehelper_data.evaluation.report.samples import SampleAnswer
from lifehelper_data.runtime.search_results import SearchExplanation, SearchResult

_SHOWN_TOKENS = 6
LEGS = ("keyword", "vector")


def section_searches(content: PageContent) -> Html:
    """Ten searches, chosen by rule, with the first five results each."""
    if isinstance(content.searches, str):
        return paragraph(f"No search was made: {content.searches}.")
    tunables = content.settings.search
    aimed, first = known_items(content)
    return (
        paragraph(
            "Ten searches to look at, not a measurement: titles come from the best-selling books "
            f"of this catalog, the other queries are the same for every shop. {aimed} of them look "
            f"for one known book, marked below; it comes first in {first} of {aimed}."
        )
        + note(
            f"Two legs rank the books: by words (BM25, the best {tunables.keyword_pool}) and by "
            f"meaning (cosine, the best {tunables.vector_pool}). Fused score = sum over the legs "
            f"of weight / ({tunables.rrf_k:g} + rank), weights {tunables.keyword_weight:g} and "
            f"{tunables.vector_weight:g}. A leg that did not find the book shows – and adds 0. "
            "A title that equals the query, spaces aside, comes before everything else. Matched "
            "tokens carry their share of the BM25 score, largest first."
        )
        + join(_search(place, answer) for place, answer in enumerate(content.searches, 1))
    )


def known_items(content: PageContent) -> tuple[int, int]:
    """Return how many searches look for a known book, and in how many it comes first."""
    if isinstance(content.searches, str):
        return 0, 0
    aimed = [answer for answer in content.searches if answer.asked.book_id is not None]
    return len(aimed), sum(answer.place == 1 for answer in aimed)


def _search(place: int, answer: SampleAnswer) -> Html:
    asked, response = answer.asked, answer.response
    title = heading(f"{place}. {asked.kind[0].upper()}{asked.kind[1:]}")
    if response is None or asked.query is None:
        return title + paragraph("Not asked: the catalog offers nothing to ask with.")
    filters = ", ".join(f"{name} = {_plain(value)}" for name, value in asked.filters.items())
    pieces = [
        title,
        Html(f'<p class="query" lang="ko">{escape(asked.query)}</p>\n'),
        note(f"Filters: {filters}") if filters else Html(""),
    ]
    if response.degraded:
        pieces.append(note(f"Degraded: {response.degraded}. The vector leg could not answer."))
    if response.fallback:
        pieces.append(paragraph("Nothing was found. ", korean_text(response.fallback)))
    if response.results:
        pieces.append(
            table(
                f"Search {place}: the first {len(response.results)} results",
                (
                    number("#"), korean("title"), korean("author"), number("price (won)"),
                    number("words: rank (score)"), number("meaning: rank (cosine)"),
                    number("fused"), korean("matched tokens"),
                ),
                (
                    _row(at, result, asked.book_id)
                    for at, result in enumerate(response.results, 1)
                ),
                style="found",
            )
        )  # fmt: skip
    if asked.book_id is not None and answer.place is None:
        pieces.append(note(f"The known book, {asked.book_id}, is not among them."))
    return join(pieces)


def _row(place: int, result: SearchResult, wanted: int | None) -> tuple[object, ...]:
    why = result.explanation
    title = Html(escape(result.title))
    if result.book_id == wanted:
        title += Html(' <span class="mark" lang="en">the known book</span>')
    if why is not None and why.exact_title:
        title += Html(' <span class="mark" lang="en">exact title</span>')
    title += Html("<br>") + code(str(result.book_id))
    return (
        place,
        title,
        result.author,
        result.price,
        *(_leg(why, leg) for leg in LEGS),
        f"{why.fused_score:.5f}" if why is not None else None,
        _tokens(why),
    )


def _leg(why: SearchExplanation | None, name: str) -> str | None:
    for leg in why.legs if why is not None else ():
        if leg.leg == name:
            return f"{leg.rank} ({leg.score:.3f})"
    return None


def _tokens(why: SearchExplanation | None) -> Html | None:
    """Return the tokens that counted most (ties: field, then token), and how many more did."""
    if why is None or not why.matched:
        return None
    ranked = sorted(why.matched, key=lambda m: (-m.contribution, str(m.field), m.token))
    shown = [
        Html(
            f'<span class="token">{escape(str(m.field).replace("_", " "))}: '
            f"<b>{escape(m.token)}</b> {m.contribution:.2f}</span>"
        )
        for m in ranked[:_SHOWN_TOKENS]
    ]
    rest = len(ranked) - len(shown)
    return join(shown) + (Html(f'<span lang="en">and {rest} more</span>') if rest else Html(""))


def _plain(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
