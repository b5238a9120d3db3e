"""Labelled queries: cases of the search suite that a user brings."""

from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from lifehelper_data.evaluation.cases import Case, CaseSet
from lifehelper_data.evaluation.suite import SuiteContext
from lifehelper_data.runtime.requests import QUERY_MAX, clean_text
from lifehelper_data.stores.eval_books import all_book_ids

_SPLIT_SLICE: Final = "split"

Grade = Annotated[int, Field(ge=0, le=100)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class LabelledQuery(BaseModel):
    """One labelled query: a line of the file given with `--cases`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    case_id: Name = Field(description="key of the case; runs are paired on it")
    query: str = Field(description="1-200 characters after trimming")
    relevant: dict[str, Grade] = Field(
        description="book_id as text -> grade: 0 not relevant, higher is better; {} if no book of "
        "the catalog is, which leaves the ranking metrics undefined"
    )
    family: Name | None = Field(
        None, description="queries of one family depend on each other; default: case_id"
    )
    slices: dict[Name, Name] = Field(default_factory=dict, description="slice name -> value")
    split: Literal["dev", "test"] | None = Field(None, description="becomes the slice 'split'")
    note: str = Field("", description="why it was labelled so")

    @field_validator("query")
    @classmethod
    def _query(cls, value: str) -> str:
        trimmed = clean_text(value)
        if not 1 <= len(trimmed) <= QUERY_MAX:
            raise ValueError(f"has {len(trimmed)} characters after trimming; 1-{QUERY_MAX} fit")
        return trimmed

    @field_validator("relevant")
    @classmethod
    def _relevant(cls, value: dict[str, int]) -> dict[str, int]:
        for book in value:
            digits = book.removeprefix("-")
            if not (digits.isascii() and digits.isdecimal() and str(int(book)) == book):
                raise ValueError(f"{book!r} is no book_id; write the number as text")
            if not -(2**63) <= int(book) < 2**63:
                raise ValueError(f"{book!r} is no 64-bit number")
        return value


def labelled_case(line: LabelledQuery) -> Case:
    """Return the case of a labelled query."""
    split = {} if line.split is None else {_SPLIT_SLICE: line.split}
    return Case(
        case_id=line.case_id,
        family=line.family or line.case_id,
        input={"query": line.query},
        target=dict(line.relevant),
        slices=dict(line.slices) | split,
        note=line.note,
    )


def absent_books(context: SuiteContext, cases: CaseSet) -> tuple[str, ...]:
    """Say which relevant books of labelled queries the release lacks: they cannot be found."""
    known = set(context.release.sql(all_book_ids()).to_polars()["book_id"].to_list())
    absent: set[int] = set()
    for case in cases.cases:
        target: Any = case.target
        absent |= {int(book) for book, grade in target.items() if grade > 0} - known
    if not absent:
        return ()
    shown = ", ".join(map(str, sorted(absent)[:5])) + "…" * (len(absent) > 5)
    return (
        f"{len(absent)} relevant books are not in release {context.release.release.number} and "
        f"count as not found: {shown}",
    )
