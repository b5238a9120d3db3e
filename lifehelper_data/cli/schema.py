"""`lifehelper schema`: JSON Schema of what can be written down, and the data contract."""

from collections.abc import Callable
from typing import Annotated, Any, Final

import typer

from lifehelper_data.cli.options import JsonOption
from lifehelper_data.cli.output import print_json, print_table
from lifehelper_data.domain.contract import ALL_TABLES, SQL_TYPES
from lifehelper_data.domain.errors import NotFound


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("schema")(schema)


def schema(
    name: Annotated[
        str | None, typer.Argument(help="source, config, or a table; without it: the list.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the JSON Schema of a document, or the columns of a table."""
    if name is None:
        documents = [*DOCUMENTS, *ALL_TABLES]
        if as_json:
            print_json({"schemas": documents})
        else:
            rows = [(d, "JSON Schema") for d in DOCUMENTS]
            rows += [(t.name, t.meaning) for t in ALL_TABLES.values()]
            print_table("", ("name", "what"), rows)
    elif name in DOCUMENTS:
        print_json(DOCUMENTS[name]())
    elif name in ALL_TABLES:
        columns = [
            (c.name, SQL_TYPES[c.kind], c.nullable, c.derived, c.meaning)
            for c in ALL_TABLES[name].columns
        ]
        titles = ("column", "type", "nullable", "derived", "meaning")
        if as_json:
            described = [dict(zip(titles, column, strict=True)) for column in columns]
            print_json({"table": name, "key": ALL_TABLES[name].key, "columns": described})
        else:
            print_table(f"{name}: {ALL_TABLES[name].meaning}", titles, columns)
    else:
        raise NotFound(
            f"no schema {name!r}; known: {', '.join([*DOCUMENTS, *ALL_TABLES])}", field="name"
        )


def _source_schema() -> dict[str, Any]:
    from lifehelper_data.sources.mapping import SourceMapping

    return SourceMapping.model_json_schema()


def _config_schema() -> dict[str, Any]:
    from lifehelper_data.settings import Settings

    return Settings.model_json_schema()


def _search_schema() -> dict[str, Any]:
    from lifehelper_data.runtime.requests import SearchRequest

    return SearchRequest.model_json_schema()


def _search_cases_schema() -> dict[str, Any]:
    from lifehelper_data.evaluation.suites.search_cases import LabelledQuery

    return LabelledQuery.model_json_schema()


DOCUMENTS: Final[dict[str, Callable[[], dict[str, Any]]]] = {
    "source": _source_schema,
    "config": _config_schema,
    "search": _search_schema,
    "search-cases": _search_cases_schema,
}
"""Documents people write, by name. Requests join here as they come."""
