"""Requests as they come in: checked once, named field by field."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.domain.search.filters import SearchFilters

INT32_MAX: Final = 2_147_483_647
QUERY_MAX: Final = 200
SIZE_MAX: Final = 50


def clean_text(value: str) -> str:
    """Trim a text; refuse NUL and unpaired surrogates."""
    if "\x00" in value:
        raise ValueError("holds a NUL character")
    if any("\ud800" <= mark <= "\udfff" for mark in value):
        raise ValueError("holds an unpaired surrogate")
    return value.strip()


class FilterRequest(BaseModel):
    """Conditions that every result meets; bounds are inclusive."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    category: str | None = Field(None, description="onboarding category or catalog class")
    price_min: int | None = Field(None, ge=0, le=INT32_MAX, description="won")
    price_max: int | None = Field(None, ge=0, le=INT32_MAX, description="won")
    pub_year_from: int | None = Field(None, ge=0, le=INT32_MAX)
    pub_year_to: int | None = Field(None, ge=0, le=INT32_MAX)
    in_stock_only: bool = False

    @field_validator("category")
    @classmethod
    def _category(cls, value: str | None) -> str | None:
        if value is None:
            return None
        trimmed = clean_text(value)
        if not trimmed:
            raise ValueError("is blank")
        return trimmed

    @model_validator(mode="after")
    def _ordered(self) -> "FilterRequest":
        for low, high in (("price_min", "price_max"), ("pub_year_from", "pub_year_to")):
            bottom, top = getattr(self, low), getattr(self, high)
            if bottom is not None and top is not None and bottom > top:
                raise ValueError(f"{low} = {bottom} is above {high} = {top}")
        return self

    def to_domain(self) -> SearchFilters:
        """Return the filters as a domain value."""
        return SearchFilters(**self.model_dump())


class SearchRequest(BaseModel):
    """One search."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    query: str = Field(description="1-200 characters after trimming")
    filters: FilterRequest = FilterRequest()
    sort: Literal["relevance", "newest", "price_asc", "price_desc", "popular"] = "relevance"
    cursor: str | None = Field(None, description="next_cursor of the page before")
    size: int = Field(15, ge=1, le=SIZE_MAX)

    @field_validator("query")
    @classmethod
    def _query(cls, value: str) -> str:
        trimmed = clean_text(value)
        if not 1 <= len(trimmed) <= QUERY_MAX:
            raise ValueError(f"has {len(trimmed)} characters after trimming; 1-{QUERY_MAX} fit")
        return trimmed


class HabitSearchRequest(BaseModel):
    """One search in the habit catalog."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    query: str | None = Field(None, description="1-200 characters after trimming; none lists all")
    category: str | None = Field(None, description="topic, such as sleep")
    kind: Literal["protocol", "break", "diet"] | None = None
    limit: int = Field(5, ge=1, le=20)

    @field_validator("query", "category")
    @classmethod
    def _text(cls, value: str | None) -> str | None:
        if value is None:
            return None
        trimmed = clean_text(value)
        if not 1 <= len(trimmed) <= QUERY_MAX:
            raise ValueError(f"has {len(trimmed)} characters after trimming; 1-{QUERY_MAX} fit")
        return trimmed


def parse_habit_search(
    given: "HabitSearchRequest | Mapping[str, Any]",
) -> HabitSearchRequest:
    """Return a checked search in the habit catalog.

    Raises:
        InvalidRequest: names the field and quotes the value.
    """
    if isinstance(given, HabitSearchRequest):
        return given
    try:
        return HabitSearchRequest.model_validate(dict(given))
    except ValidationError as error:
        raise invalid_request(error) from error


def parse_search_request(given: "SearchRequest | Mapping[str, Any]") -> SearchRequest:
    """Return a checked search request.

    Raises:
        InvalidRequest: names the field and quotes the value.
    """
    if isinstance(given, SearchRequest):
        return given
    try:
        return SearchRequest.model_validate(dict(given))
    except ValidationError as error:
        raise invalid_request(error) from error


def invalid_request(error: ValidationError) -> InvalidRequest:
    """Return the first problem of a request as one line that names field and value."""
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"]) or None
    reason = str(first["msg"]).removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        reason = "unknown field; `lifehelper schema search` lists the known ones"
    value = "" if field is None or first["type"] == "missing" else f" = {_shown(first['input'])}"
    return InvalidRequest(f"{field or 'request'}{value}: {reason}", field=field)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
