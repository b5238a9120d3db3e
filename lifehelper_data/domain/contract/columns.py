"""Types and value rules of a contract column."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal


class Kind(StrEnum):
    """What a column holds once it is clean."""

    INT64 = "int64"
    INT32 = "int32"
    TEXT = "text"
    BOOL = "bool"
    FLOAT = "float64"
    TIMESTAMP = "timestamp"
    TEXT_LIST = "text[]"
    INT_LIST = "int64[]"
    FLOAT_LIST = "float32[]"


SQL_TYPES: Final[dict[Kind, str]] = {
    Kind.INT64: "BIGINT",
    Kind.INT32: "INTEGER",
    Kind.TEXT: "VARCHAR",
    Kind.BOOL: "BOOLEAN",
    Kind.FLOAT: "DOUBLE",
    Kind.TIMESTAMP: "TIMESTAMP WITH TIME ZONE",
    Kind.TEXT_LIST: "VARCHAR[]",
    Kind.INT_LIST: "BIGINT[]",
    Kind.FLOAT_LIST: "FLOAT[]",
}
"""The type a contract column has in every published table."""

IdSpace = Literal["books", "users"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a contract table.

    Attributes:
        name: the column's name in SELECT, table and dictionary.
        kind: the type it is cast to.
        meaning: one line for the data dictionary.
        nullable: whether null is a good value.
        minimum: smallest good value (numbers), inclusive.
        maximum: largest good value (numbers), inclusive.
        choices: the only good values (text).
        max_items: the longest good list.
        half_steps: the value must be a multiple of 0.5.
        default: what null becomes; `"event_time"` copies the table's event time.
        id_space: which id space the value belongs to, if it is an id.
        derived: computed by the platform after casting, never read from the source.
    """

    name: str
    kind: Kind
    meaning: str
    nullable: bool = True
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    max_items: int | None = None
    half_steps: bool = False
    default: bool | int | Literal["event_time"] | None = None
    id_space: IdSpace | None = None
    derived: bool = False

    @property
    def required(self) -> bool:
        """Whether a SELECT must name this column."""
        return not (self.nullable or self.derived) and self.default is None
