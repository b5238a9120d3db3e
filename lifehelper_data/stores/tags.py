"""Names given to releases: a tagged release is kept for good."""

import re
from typing import Final

from lifehelper_data.domain.errors import InvalidRequest, NotFound, Unavailable
from lifehelper_data.stores.atomic import write_json
from lifehelper_data.stores.heartbeat import read_fields
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.locks import HeldLock

CURRENT: Final = "current"
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def is_tag_name(name: str) -> bool:
    """Whether a text can be a tag.

    >>> [is_tag_name(name) for name in ("before-holiday", "42", "current", "Big", "")]
    [True, False, False, False, False]
    """
    return bool(_NAME.fullmatch(name)) and not name.isdecimal() and name != CURRENT


def read_tags(layout: Layout) -> dict[str, int]:
    """Return release numbers by tag, ordered by tag."""
    path = layout.tags_file
    if not path.exists():
        return {}
    tags: dict[str, int] = {}
    fields = read_fields(path)
    for name, number in sorted((fields or {}).items()):
        if isinstance(number, int):
            tags[name] = number
    if fields is None or len(tags) != len(fields):
        raise Unavailable(
            f"{str(path)!r} is damaged; restore it from a copy, or remove it and tag again",
            field=path.name,
        )
    return tags


def tag_release(
    layout: Layout, number: int, name: str, lock: HeldLock, *, force: bool = False
) -> None:
    """Name a release.

    Raises:
        InvalidRequest: the name cannot be a tag, or names another release and `force` is false.
        NotFound: there is no such release.
    """
    if not is_tag_name(name):
        raise InvalidRequest(
            f"tag {name!r} must be 1-64 of a-z 0-9 . _ - beginning with a letter or digit, not "
            "only digits and not 'current'",
            field="tag",
        )
    if not layout.release_file(number).exists():
        raise NotFound(f"release {number} does not exist; see `lifehelper release list`")
    tags = read_tags(layout)
    if tags.get(name, number) != number and not force:
        raise InvalidRequest(
            f"tag {name!r} names release {tags[name]}; give --force to move it", field="tag"
        )
    with lock.fenced():
        write_json(layout.tags_file, tags | {name: number})


def untag_release(layout: Layout, name: str, lock: HeldLock) -> int:
    """Take a name away; returns the release it named.

    Raises:
        NotFound: nothing has that name.
    """
    tags = read_tags(layout)
    if name not in tags:
        raise NotFound(f"no release is tagged {name!r}; tags: {', '.join(tags) or 'none'}")
    number = tags.pop(name)
    with lock.fenced():
        write_json(layout.tags_file, tags)
    return number
