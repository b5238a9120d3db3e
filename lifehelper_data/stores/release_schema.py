"""The tables a release file carries about itself."""

from typing import Final

RESERVED_FACTS: Final = (
    "format_version",
    "number",
    "state",
    "created_at",
    "promoted_at",
    "identity",
    "root",
)
"""Facts the release store writes itself; `ReleaseContent.facts` may not name them."""

_LANES: Final = tuple(
    (f"lane_{i}", "UBIGINT", False, f"sum {i + 1} of 4 of the row hashes") for i in range(4)
)

SELF_TABLES: Final[dict[str, tuple[tuple[str, str, bool, str], ...]]] = {
    "release_facts": (
        ("key", "VARCHAR", False, "name of the fact"),
        ("value", "VARCHAR", False, "the fact as JSON"),
    ),
    "release_parts": (
        ("table_name", "VARCHAR", False, "table the part belongs to"),
        ("bucket", "INTEGER", False, "bucket of the table it holds; 0 for a table in one part"),
        ("path", "VARCHAR", False, "path of the Parquet file, relative to the workspace"),
        ("rows", "BIGINT", False, "rows in the part"),
        *_LANES,
        ("identity", "VARCHAR", False, "identity of its rows; also its file name"),
        ("bytes_sha256", "VARCHAR", False, "SHA-256 of the file"),
        ("size_bytes", "BIGINT", False, "size of the file"),
    ),
    "release_tables": (
        ("table_name", "VARCHAR", False, "the table"),
        ("rows", "BIGINT", True, "rows in the release; null: counted while loading, not held"),
        ("identity", "VARCHAR", True, "identity of all its rows, however they are split"),
        ("returned", "BIGINT", True, "rows its SELECT returned; null: not loaded from a source"),
        ("kept", "BIGINT", True, "rows in the clean table"),
        ("repeated", "BIGINT", True, "rows equal to a kept one but for arrived_at"),
        ("duplicates", "BIGINT", True, "rows that lost against another of the same key"),
        ("quarantined", "BIGINT", True, "rows with a bad value"),
        ("bad_columns", "VARCHAR", True, "quarantined rows by first bad column, as JSON"),
        ("orphans", "BIGINT", True, "kept history rows whose book is unknown"),
        ("ignored_columns", "VARCHAR", True, "columns the contract does not know, as JSON"),
    ),
    "release_files": (
        ("position", "INTEGER", False, "order of the files, from 1"),
        ("source_file", "VARCHAR", False, "name the mapping gives the file"),
        ("path", "VARCHAR", False, "path relative to the mapping file"),
        ("lines", "BIGINT", False, "data lines"),
        ("rows", "BIGINT", False, "lines read as rows"),
        ("rejected", "BIGINT", False, "lines put in the reject table"),
        ("reasons", "VARCHAR", False, "rejected lines by reason, as JSON"),
    ),
    "release_artifacts": (
        ("name", "VARCHAR", False, "name of the artifact"),
        ("kind", "VARCHAR", False, "keyword_index (a folder) or vectors (a Lance version)"),
        ("path", "VARCHAR", False, "its folder, relative to the workspace"),
        ("identity", "VARCHAR", False, "identity of what it was made from"),
        ("rows", "BIGINT", False, "items it holds"),
        ("files", "VARCHAR", False, "its files with size and SHA-256, as JSON"),
        ("facts", "VARCHAR", False, "what opens and describes it, as JSON"),
    ),
    "data_dictionary": (
        ("table_name", "VARCHAR", False, "the table or view"),
        ("position", "INTEGER", False, "order of the columns, from 1"),
        ("column_name", "VARCHAR", False, "the column"),
        ("type", "VARCHAR", False, "its SQL type"),
        ("nullable", "BOOLEAN", False, "whether it may be null"),
        ("meaning", "VARCHAR", False, "what it says"),
    ),
}
"""Columns (name, SQL type, nullable, meaning) of each table about the release, by table name."""
