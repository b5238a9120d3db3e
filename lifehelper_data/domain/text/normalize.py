"""The one form in which texts are compared: NFKC, case folded, single spaces."""

import re
import unicodedata
from typing import Final

RULES_VERSION: Final = "text-1"  # part of every index identity: raise it when a rule here changes

# Characters that take no room: soft hyphen, zero-width space and joiners, marks of writing
# direction, byte order mark, variation selectors. Copied web text is full of them.
_INVISIBLE: Final = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff]"
)
# Hangul fillers count as letters in Unicode but are typed as blanks.
_FILLERS: Final = re.compile("[\u115f\u1160\u3164\uffa0]")
_MAX_ROUNDS: Final = 4  # two suffice for all but a few Greek and ligature sequences


def normalize(text: str) -> str:
    r"""Return the form in which two texts are compared.

    NFKC, full case folding, invisible characters removed, every run of white space (tab, no-break,
    ideographic, Hangul filler) one space, trimmed. Applying it twice changes nothing: the steps are
    repeated until the text stands still (case folding may leave NFKC, Unicode 15 section 3.13).

    >>> normalize(" ＡＢＣ\u3000해리포터\t②")
    'abc 해리포터 2'
    >>> normalize("\u200b \u00a0")
    ''
    """
    for _ in range(_MAX_ROUNDS):
        before = text
        text = _INVISIBLE.sub("", text)
        text = unicodedata.normalize("NFKC", text).casefold()
        text = " ".join(_FILLERS.sub(" ", text).split())
        if text == before:
            break
    return text


def squash(text: str) -> str:
    """Return the normal form without spaces: what an exact title is compared by.

    >>> squash("메타포 워즈") == squash("메타포워즈")
    True
    """
    return normalize(normalize(text).replace(" ", ""))


def has_letter_or_digit(token: str) -> bool:
    """Return whether a token is more than punctuation.

    >>> [has_letter_or_digit(token) for token in ("c++", "++", "")]
    [True, False, False]
    """
    return any(character.isalnum() for character in token)
