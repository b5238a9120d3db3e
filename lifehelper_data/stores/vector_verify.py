"""Whether a published version of a vector table still holds what it was published with."""

from typing import Final

from lifehelper_data.domain.errors import NotFound, Unavailable
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.part_check import Problem
from lifehelper_data.stores.vector_codes import codes_fault
from lifehelper_data.stores.vector_files import VectorFiles
from lifehelper_data.stores.vector_publish import REMOVE
from lifehelper_data.stores.vector_rows import content_digest
from lifehelper_data.stores.vector_version import load_facts, map_arrays, read_tagged

_REMOVE_CODES: Final = "remove that file; the next search makes it again"


def verify_version(
    layout: Layout,
    name: str,
    vector_space_id: str,
    tag: str,
    *,
    rows: int | None = None,
    digest: str | None = None,
) -> list[Problem]:
    """Read every row of a version and say what is wrong; nothing wrong: empty.

    Args:
        layout: the workspace.
        name: what the vectors are of.
        vector_space_id: the space.
        tag: the version.
        rows: how many there must be; None checks what the tag implies only.
        digest: the content digest as a release recorded it; None checks against the tag only.
    """
    files = VectorFiles.of(layout, name, vector_space_id)
    try:
        _, found, _ = read_tagged(files, tag)
    except (NotFound, Unavailable) as error:
        return [_problem(files, str(error))]
    problems = list(found.faults("item"))
    dim = found.vectors.shape[1]
    actual = content_digest(vector_space_id, dim, found.item_ids, found.digests)
    if rows is not None and rows != len(found.item_ids):
        problems.append(f"version {tag!r} has {len(found.item_ids)} rows instead of {rows}")
    if not actual.startswith(tag.removeprefix("c-")) or digest not in (None, actual):
        problems.append(f"version {tag!r} holds other ids or text digests ({actual!r})")
    facts = load_facts(files, tag)
    mapped = None if facts is None else map_arrays(files, facts)
    if mapped is not None and not (
        (mapped[0] == found.item_ids).all() and (mapped[1] == found.vectors).all()
    ):
        problems.append(f"{files.cached_vectors(tag).name!r} is not what the table holds")
    found_problems = [_problem(files, what) for what in problems]
    fault = None if problems else codes_fault(files, tag, found.vectors)
    if fault is not None:
        path = files.cached_codes(tag)
        shown = path.relative_to(layout.root).as_posix()
        found_problems.append(Problem(path=shown, what=fault, remedy=_REMOVE_CODES))
    return found_problems


def _problem(files: VectorFiles, what: str) -> Problem:
    return Problem(path=files.shown, what=what, remedy=REMOVE)
