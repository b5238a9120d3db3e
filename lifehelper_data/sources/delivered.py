"""What a SELECT or query delivers, held against the contract."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lifehelper_data.domain.contract import Table
from lifehelper_data.domain.errors import MappingError
from lifehelper_data.sources.postgres import DatabaseColumn
from lifehelper_data.sources.scratch import quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """The columns of a query.

    Attributes:
        query: the query, checked.
        wanted: those the contract knows, sorted by name.
        ignored: names of the others, in lower case, sorted.
    """

    query: str
    wanted: tuple[DatabaseColumn, ...]
    ignored: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the wanted columns as the contract writes them, sorted."""
        return tuple(column.name.lower() for column in self.wanted)

    @property
    def types(self) -> dict[str, str]:
        """The server's type of each wanted column."""
        return {column.name.lower(): column.type_name for column in self.wanted}

    def select(self, extra: str = "", where: str = "") -> str:
        """Return the SELECT that delivers the wanted columns as text; empty text is null.

        Args:
            extra: a further expression with its name, or empty.
            where: a condition, or empty for all rows.
        """
        selected = [f"{_as_text(c)} AS {quoted(c.name.lower())}" for c in self.wanted]
        return (
            f"SELECT {', '.join([*selected, *([extra] if extra else [])])} "
            f"FROM (\n{self.query}\n) AS source" + (f" WHERE {where}" if where else "")
        )


def delivered_columns(table: Table, query: str, probed: Sequence[DatabaseColumn]) -> Delivered:
    """Hold the columns of a query against a contract table.

    Raises:
        MappingError: a column is there twice, a required one is absent, or one is binary.
    """
    lower = check_names(table, "query", [column.name for column in probed])
    contract = {c.name for c in table.source_columns}
    wanted = sorted((c for c in probed if c.name.lower() in contract), key=lambda c: c.name.lower())
    binary = [column for column in wanted if column.shape == "binary"]
    if binary:
        raise MappingError(
            f"tables.{table.name}.query returns {binary[0].name!r} as {binary[0].type_name}: bytes "
            "are not text; write convert_from(..., 'UTF8') or encode(..., 'hex') around it",
            field=table.name,
        )
    return Delivered(
        query=query, wanted=tuple(wanted), ignored=tuple(sorted(set(lower) - contract))
    )


def check_names(table: Table, key: Literal["sql", "query"], names: Sequence[str]) -> list[str]:
    """Check the names a SELECT returns and give them back in lower case.

    Raises:
        MappingError: a name is there twice, or a required one is absent.
    """
    lower = [name.lower() for name in names]
    repeated = sorted({name for name in lower if lower.count(name) > 1})
    if repeated:
        raise MappingError(
            f"tables.{table.name}.{key} returns {repeated[0]!r} twice; name each column once",
            field=table.name,
        )
    absent = [c.name for c in table.source_columns if c.required and c.name not in lower]
    if absent:
        raise MappingError(
            f"tables.{table.name}.{key} does not return {', '.join(map(repr, absent))}; the "
            "contract requires it",
            field=table.name,
        )
    return lower


def _as_text(column: DatabaseColumn) -> str:
    name = quoted(column.name)
    return f"nullif({f'to_json({name})' if column.shape == 'nested' else name}::text, '')"
