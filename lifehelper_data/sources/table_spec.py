"""How a mapping declares one contract table, and the database it may come from."""

import re
from datetime import timedelta
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

_DURATION = re.compile(r"([1-9][0-9]{0,5}) (second|minute|hour|day|week)s?")
_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
_VARIABLE: Final = r"^[A-Za-z_][A-Za-z0-9_]{0,127}$"


def parse_duration(text: object) -> timedelta:
    """Read a duration: a whole number from 1 to 999,999, one blank, a unit from seconds to weeks.

    >>> parse_duration("15 minutes")
    datetime.timedelta(seconds=900)
    >>> parse_duration("1 day")
    datetime.timedelta(days=1)

    Raises:
        ValueError: it is anything else.
    """
    if isinstance(text, timedelta):
        return text
    found = _DURATION.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ValueError(
            f"{text!r} is not a duration; write a number and a unit, such as '15 minutes', "
            "'2 hours' or '1 day'"
        )
    return timedelta(seconds=int(found[1]) * _SECONDS[found[2]])


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration, json_schema_input_type=str),
    PlainSerializer(lambda value: f"{int(value.total_seconds())} seconds", return_type=str),
]
"""A duration in words."""


class Incremental(BaseModel):
    """Between full reads only newer rows of a table are read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    column: str = Field(
        min_length=1,
        description="a timestamp or date that the query delivers and that grows with every change",
    )
    lookback: Duration = Field(
        description="how far behind the newest row known a late one is still looked for"
    )


class PostgresSpec(BaseModel):
    """The database that queries read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    uri_env: str = Field(
        pattern=_VARIABLE,
        description="environment variable that holds the libpq URI; the URI itself never "
        "stands in a mapping",
    )


class TableSpec(BaseModel):
    """How one contract table is selected."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sql: str | None = Field(
        None, min_length=1, description="exactly one SELECT over declared files"
    )
    query: str | None = Field(
        None, min_length=1, description="exactly one SELECT that the database of [postgres] runs"
    )
    incremental: Incremental | None = Field(
        None, description="read only newer rows between full reads; for a query only"
    )

    @model_validator(mode="after")
    def _one_source(self) -> "TableSpec":
        if (self.sql is None) == (self.query is None):
            raise ValueError(
                "needs exactly one of sql (over declared files) and query (over [postgres])"
            )
        if self.incremental is not None and self.query is None:
            raise ValueError("incremental goes with query; files are always read in full")
        return self
