"""What the owner of a source changed under us since the last load."""

import hashlib
import json
from collections.abc import Mapping

from lifehelper_data.domain.build import BuildRecord
from lifehelper_data.domain.errors import ContractViolation, MappingError
from lifehelper_data.sources.load import SourceReader


def source_shape(reader: SourceReader) -> dict[str, object]:
    """Return the facts that the next load compares itself with."""
    return {
        "mapping_digest": _mapping_digest(reader),
        "source_columns": {name: list(columns) for name, columns in reader.file_columns.items()},
        "delivered_columns": {s.table.name: list(s.columns) for s in reader.tables},
    }


def refuse_vanished_columns(last: BuildRecord | None, reader: SourceReader) -> None:
    """Refuse a load in which a table silently lost a column, as `select *` would let it.

    A changed mapping is the owner's word; then nothing is compared.

    Raises:
        ContractViolation: names every table and column that is gone.
    """
    now = source_shape(reader)
    if last is None or last.facts.get("mapping_digest") != now["mapping_digest"]:
        return
    lost = _lost(_columns(last.facts, "delivered_columns"), _columns(now, "delivered_columns"))
    if lost:
        raise ContractViolation(
            f"columns have gone since the last load: {'; '.join(lost)}; restore them, or change "
            "the mapping to say that they are gone"
        )


def as_contract_violation(
    last: BuildRecord | None, reader: SourceReader, error: MappingError
) -> MappingError | ContractViolation:
    """Return the error of a SELECT; as a ContractViolation if the source lost what it needs.

    That is: files lost columns, or a query that worked before names something that has gone from
    the database.
    """
    if last and reader.gone and last.facts.get("mapping_digest") == _mapping_digest(reader):
        return ContractViolation(
            f"the database changed since the last load: {error}; restore what has gone, or change "
            "the mapping to say that it is gone",
            field=error.field,
        )
    now = {name: list(columns) for name, columns in reader.file_columns.items()}
    lost = _lost(_columns(last.facts, "source_columns"), now) if last else []
    if not lost:
        return error
    return ContractViolation(
        f"columns have gone since the last load: {'; '.join(lost)}; {error}; restore them or "
        "change the mapping",
        field=error.field,
    )


def _mapping_digest(reader: SourceReader) -> str:
    mapping = reader.mapping.model_dump(mode="json", exclude={"description": True})
    text = json.dumps(mapping, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _columns(facts: Mapping[str, object], name: str) -> dict[str, list[str]]:
    value = facts.get(name)
    return value if isinstance(value, dict) else {}


def _lost(before: Mapping[str, list[str]], now: Mapping[str, list[str]]) -> list[str]:
    found: list[str] = []
    for name in sorted(before.keys() & now.keys()):
        gone = [column for column in before[name] if column not in now[name]]
        new = [column for column in now[name] if column not in before[name]]
        if gone:
            hint = f" (new: {', '.join(new)})" if new else ""
            found.append(f"{name} lost {', '.join(gone)}{hint}")
    return found
