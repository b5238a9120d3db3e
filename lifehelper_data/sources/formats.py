"""File formats a mapping may declare. To add one, write a `Reader` and name it here."""

from collections.abc import Mapping
from typing import Final

from lifehelper_data.sources.delimited import read_delimited
from lifehelper_data.sources.jsonl import read_jsonl
from lifehelper_data.sources.parquet import read_parquet
from lifehelper_data.sources.text_batch import Reader

READERS: Final[Mapping[str, Reader]] = {
    "csv": read_delimited,
    "tsv": read_delimited,
    "jsonl": read_jsonl,
    "parquet": read_parquet,
}
