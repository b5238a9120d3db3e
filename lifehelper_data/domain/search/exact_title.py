"""The number of a title: equal titles, however spaced or written, have equal numbers."""

from lifehelper_data.domain.ids import text_id
from lifehelper_data.domain.text.normalize import squash


def title_key(title: str) -> int:
    """Return the 53-bit number of a title, normalised and without spaces.

    >>> title_key("메타 포워즈 ②") == title_key("메타포워즈 2")
    True
    """
    return text_id(squash(title))
