"""`lifehelper search`: one search on a pinned release, with its reasons."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lifehelper_data.cli.options import (
    DEFAULT_WORKSPACE,
    JsonOption,
    ReleaseOption,
    WorkspaceOption,
)
from lifehelper_data.cli.output import err, out, print_json, print_table
from lifehelper_data.domain.errors import InvalidRequest, NotFound

if TYPE_CHECKING:
    from lifehelper_data.runtime.search_results import SearchResponse, SearchResult


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("search")(search)


def search(
    query: Annotated[str | None, typer.Argument(help="What to look for.")] = None,
    workspace: WorkspaceOption = DEFAULT_WORKSPACE,
    release: ReleaseOption = "current",
    category: Annotated[str | None, typer.Option(help="Onboarding category or class.")] = None,
    price_min: Annotated[int | None, typer.Option(help="Won.")] = None,
    price_max: Annotated[int | None, typer.Option(help="Won.")] = None,
    year_from: Annotated[int | None, typer.Option(help="Year of publication.")] = None,
    year_to: Annotated[int | None, typer.Option(help="Year of publication.")] = None,
    in_stock: Annotated[bool, typer.Option("--in-stock", help="Only books in stock.")] = False,
    sort: Annotated[
        str, typer.Option(help="relevance, newest, price_asc, price_desc or popular.")
    ] = "relevance",
    size: Annotated[int, typer.Option(help="Results, 1-50.")] = 15,
    cursor: Annotated[
        str | None, typer.Option(help="The cursor printed under the page before.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say why each is there.")] = False,
    request: Annotated[
        str | None, typer.Option("--request", help="A JSON document instead: a file, or -.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Search books by words and by meaning. Not personalised; no language model."""
    from lifehelper_data.runtime.requests import parse_search_request
    from lifehelper_data.runtime.workspace import Workspace

    filters = {
        "category": category,
        "price_min": price_min,
        "price_max": price_max,
        "pub_year_from": year_from,
        "pub_year_to": year_to,
        "in_stock_only": in_stock or None,
    }
    given: dict[str, Any]
    if request is not None:
        given = read_document(request)
    elif query is None:
        raise InvalidRequest("query is missing: lifehelper search '투자 입문'", field="query")
    else:
        chosen = {name: value for name, value in filters.items() if value is not None}
        given = {"query": query, "filters": chosen, "sort": sort, "size": size}
        given |= {} if cursor is None else {"cursor": cursor}
    checked = parse_search_request(given)
    with (
        Workspace.open(workspace, release) as opened,
        err.status("loading the Korean analyser and the encoder (the first time ever: a minute)"),
    ):
        engine = opened.search_engine()
        engine.check(checked)
        engine.preload()
        response = opened.search(checked, explain=explain)
    if as_json:
        print_json(response.to_dict())
    else:
        _show(response, explain=explain)


def read_document(place: str) -> dict[str, Any]:
    """Read a JSON object from a file, or from stdin for `-`.

    Raises:
        NotFound: there is no such file.
        InvalidRequest: not a JSON object.
    """
    try:
        text = sys.stdin.read() if place == "-" else Path(place).read_text(encoding="utf-8")
        document = json.loads(text)
    except FileNotFoundError as error:
        raise NotFound(f"no request file {place!r}", field="request") from error
    except ValueError as error:
        raise InvalidRequest(f"request {place!r} is not JSON: {error}", field="request") from error
    if not isinstance(document, dict):
        raise InvalidRequest(f"request {place!r} is not a JSON object", field="request")
    return document


def _show(response: "SearchResponse", *, explain: bool) -> None:
    if response.fallback:
        out.print(response.fallback, markup=False)
    columns = ["#", "book_id", "title", "author", "price", "stock"]
    if explain:
        columns += ["why"]
    print_table(
        "",
        columns,
        (
            [
                place,
                str(found.book_id),
                found.title,
                found.author,
                found.price,
                found.in_stock,
                *([_why(found)] if explain else []),
            ]
            for place, found in enumerate(response.results, 1)
        ),
        right=(0, 1, 4),
    )
    if response.degraded:
        out.print(f"degraded: {response.degraded}", markup=False)
    out.print(f"release {response.release_id}", markup=False)
    if response.next_cursor:
        out.print(f"next page: --cursor {response.next_cursor}", markup=False, soft_wrap=True)


def _why(found: "SearchResult") -> str:
    why = found.explanation
    if why is None:
        return ""
    lines = ["exact title: placed first"] if why.exact_title else []
    if why.relevance_rank is not None:
        value = "unknown" if why.sort_value is None else f"{why.sort_value:g}"
        lines.append(f"sorted by {value}; by relevance {why.relevance_rank}")
    terms = [f"{leg.leg} #{leg.rank} ({leg.score:.3f}) {leg.contribution:.5f}" for leg in why.legs]
    if why.popularity_term:
        terms.append(f"popularity {why.popularity_term:.5f}")
    lines.append(f"{' + '.join(terms) or 'no leg'} = {why.fused_score:.5f}")
    words = ", ".join(
        f"{match.field}:{match.token} {match.contribution:.2f}" for match in why.matched[:8]
    )
    return "\n".join([*lines, *([words] if words else [])])
