"""The mapping file: where a shop's rows lie and how they become contract tables."""

import re
import tomllib
import zoneinfo
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from lifehelper_data.domain.contract import REQUIRED_TABLES, TABLES
from lifehelper_data.domain.errors import MappingError, NotFound
from lifehelper_data.sources.table_spec import Incremental, PostgresSpec, TableSpec

ENCODINGS: Final = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "utf-8-sig": "utf-8",
    "ascii": "ascii",
    "cp949": "cp949",
    "uhc": "cp949",
    "ms949": "cp949",
    "euc-kr": "cp949",  # real files called EUC-KR hold CP949's extra syllables
    "latin-1": "latin-1",
    "cp1252": "cp1252",
    "utf-16": "utf-16",
    "utf-16-le": "utf-16-le",
    "utf-16-be": "utf-16-be",
}
"""Encodings a file may declare -> the codec used."""

FORMATS_BY_SUFFIX: Final = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_DEFAULT_DELIMITERS: Final = {"csv": ",", "tsv": "\t"}


class FileSpec(BaseModel):
    """One declared file, or a glob of files of one shape."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(min_length=1, description="path or glob, relative to the mapping file")
    format: str | None = Field(None, description="csv, tsv, jsonl, parquet; default: by the ending")
    encoding: str = Field("utf-8", description="one of: " + ", ".join(sorted(ENCODINGS)))
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    quote: Annotated[str, Field(max_length=1)] = Field('"', description="empty: no quoting")
    header: bool = Field(True, description="whether the first line names the columns")
    columns: tuple[str, ...] | None = Field(None, description="names that replace the header's")
    null_values: tuple[str, ...] = Field((), description="texts that mean null, beside empty")

    @field_validator("format")
    @classmethod
    def _known_format(cls, value: str | None) -> str | None:
        if value is not None and value not in FORMATS_BY_SUFFIX.values():
            known = ", ".join(sorted(set(FORMATS_BY_SUFFIX.values())))
            raise ValueError(f"unknown format {value!r}; known: {known}")
        return value

    @field_validator("encoding")
    @classmethod
    def _known_encoding(cls, value: str) -> str:
        codec = ENCODINGS.get(value.lower().replace("_", "-"))
        if codec is None:
            raise ValueError(f"unknown encoding {value!r}; known: {', '.join(sorted(ENCODINGS))}")
        return codec

    @model_validator(mode="after")
    def _consistent(self) -> "FileSpec":
        if self.format is None and Path(self.path).suffix.lower() not in FORMATS_BY_SUFFIX:
            raise ValueError(
                f"cannot tell the format of {self.path!r}; set format to csv, tsv, jsonl or parquet"
            )
        if not self.header and not self.columns:
            raise ValueError("header = false needs columns = [...]")
        if self.resolved_delimiter in ("\n", "\r", '"', self.quote) or self.quote in ("\n", "\r"):
            raise ValueError(
                "delimiter and quote cannot be a line break, nor the delimiter a quote"
            )
        return self

    @cached_property
    def resolved_format(self) -> str:
        """The format, declared or by the file's ending."""
        return self.format or FORMATS_BY_SUFFIX[Path(self.path).suffix.lower()]

    @cached_property
    def resolved_delimiter(self) -> str:
        """The delimiter, declared or by the format."""
        return self.delimiter or _DEFAULT_DELIMITERS.get(self.resolved_format, ",")


class SourceMapping(BaseModel):
    """A whole mapping file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str = Field("", description="what the source is, in a line or two")
    naive_timezone: str | None = Field(
        None, description="timezone of timestamps without an offset; without it they are refused"
    )
    text: bool = Field(True, description="false: titles are placeholders; no text scorer applies")
    text_ids: tuple[Literal["book_id", "user_id"], ...] = Field(
        (), description="id columns that hold text; each text becomes a 53-bit number"
    )
    postgres: PostgresSpec | None = Field(None, description="the database that queries read")
    files: dict[str, FileSpec] = Field(default_factory=dict)
    tables: dict[str, TableSpec]

    @property
    def queries(self) -> dict[str, str]:
        """The tables that the database delivers, in mapping order, with their queries."""
        return {n: spec.query for n, spec in self.tables.items() if spec.query is not None}

    @field_validator("naive_timezone")
    @classmethod
    def _known_timezone(cls, value: str | None) -> str | None:
        if value is None:
            return None
        known = value in zoneinfo.available_timezones()
        try:  # some names mean the machine's own setting, which casting does not know
            pl.select(pl.datetime(2000, 1, 1).dt.replace_time_zone(value))
        except pl.exceptions.ComputeError:
            known = False
        if not known:
            raise ValueError(f"unknown timezone {value!r}; use a name such as 'Asia/Seoul'")
        return value

    @model_validator(mode="after")
    def _known_names(self) -> "SourceMapping":
        for name in self.files:
            if not _NAME.fullmatch(name):
                raise ValueError(f"file name {name!r} must be lower-case letters, digits and _")
        unknown = sorted(set(self.tables) - set(TABLES))
        if unknown:
            raise ValueError(f"unknown table {unknown[0]!r}; known: {', '.join(TABLES)}")
        for required in REQUIRED_TABLES:
            if required not in self.tables:
                raise ValueError(f"table {required!r} is required; add [tables.{required}]")
        if self.queries and self.postgres is None:
            raise ValueError(
                f"tables.{next(iter(self.queries))}.query needs a database; add [postgres] with "
                'uri_env = "..."'
            )
        return self


def _model_at(location: tuple[str | int, ...]) -> type[BaseModel]:
    """Return the model that holds the key at a location."""
    if "incremental" in location[:-1]:
        return Incremental
    if len(location) == 1:
        return SourceMapping
    models: dict[str, type[BaseModel]] = {"files": FileSpec, "postgres": PostgresSpec}
    return models.get(str(location[0]), TableSpec)


def load_mapping(path: Path) -> SourceMapping:
    """Read and check a mapping file.

    Args:
        path: the `source.toml`.

    Returns:
        The checked mapping.

    Raises:
        NotFound: there is no such file.
        MappingError: it is not TOML, or names something unknown; the message names the field.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
        raise NotFound(
            f"no mapping file at {str(path)!r}; give the path of a source.toml"
        ) from error
    except UnicodeDecodeError as error:
        raise MappingError(f"cannot read {str(path)!r}: {error}; save it as UTF-8") from error
    except OSError as error:
        raise MappingError(
            f"cannot read {str(path)!r}: {error.strerror or error}; check the path and its rights"
        ) from error
    try:
        return SourceMapping.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, ValueError) as error:
        field, reason = _first_problem(error)
        raise MappingError(
            f"{path.name}: {field + ': ' if field else ''}{reason}", field=field
        ) from (None if isinstance(error, ValidationError) else error)


def matching_files(spec: FileSpec, base: Path) -> list[Path]:
    """Return the files a spec names, sorted by path; absolute paths are allowed.

    A file of exactly that name comes before a glob, so `[` in a folder's name does no harm.

    Raises:
        NotFound: nothing matches.
        MappingError: the path is not one, or not a glob.
    """
    pattern = Path(spec.path)
    root = Path(pattern.anchor) if pattern.is_absolute() else base
    relative = str(pattern.relative_to(pattern.anchor)) if pattern.is_absolute() else spec.path
    single = root / relative
    try:
        found = [single] if single.is_file() else []
        if not found and any(mark in spec.path for mark in "*?["):
            found = sorted(p for p in root.glob(relative) if p.is_file())
    except (OSError, ValueError) as error:
        raise MappingError(
            f"path {spec.path!r} cannot be looked up ({error}); write a plain path or glob",
            field="path",
        ) from error
    if not found:
        raise NotFound(
            f"no file matches {spec.path!r} below {str(base)!r}; check the path", field="path"
        )
    return found


def _first_problem(error: Exception) -> tuple[str | None, str]:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or None
        if first["type"] == "extra_forbidden":
            keys = _model_at(first["loc"]).model_fields
            return field, f"unknown key; known: {', '.join(keys)}"
        if first["type"] == "missing":
            return field, "is required; add it"
        return field, str(first["msg"]).removeprefix("Value error, ")
    return None, f"not valid TOML: {error}"
