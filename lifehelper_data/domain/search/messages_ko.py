"""What search says to a user, in Korean."""

from enum import StrEnum
from typing import Final


class SearchMessage(StrEnum):
    """Codes of messages of the search surface."""

    NOTHING_FOUND = "nothing_found"


MESSAGES: Final[dict[SearchMessage, str]] = {
    SearchMessage.NOTHING_FOUND: (
        "찾으시는 책이 없어요. 어떤 책을 읽고 싶은지 이야기해 주시면 함께 골라 드릴게요."
    ),
}


def message(code: SearchMessage) -> str:
    """Return the text of a code."""
    return MESSAGES[code]
