"""How people write a title that they know: other forms of it, made by rule and seed.

Syllables and their numbers: The Unicode Standard, section 3.12 (conjoining jamo). Particles follow
the Standard Language rules of Korean: they depend on the final consonant of the last syllable.
"""

import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from lifehelper_data.evaluation.search_seeds import seeded_rng

FIRST, LAST = "가", "힣"
_MEDIALS: Final = 21
_FINALS: Final = 28
_INITIAL_JAMO: Final = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
_MEDIAL_JAMO: Final = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
_FINAL_JAMO: Final = "·ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"  # · is none

# Letters that sound alike or lie beside each other on the two-set keyboard.
_NEAR_INITIALS: Final = "ㄱㅋ ㄱㄲ ㄷㅌ ㄷㄸ ㅂㅍ ㅂㅃ ㅅㅆ ㅈㅊ ㅈㅉ ㄴㄹ ㅁㄴ ㅇㅎ"
_NEAR_MEDIALS: Final = "ㅐㅔ ㅒㅖ ㅚㅙ ㅙㅞ ㅗㅜ ㅏㅓ ㅓㅗ ㅡㅜ ㅣㅟ ㅑㅕ ㅛㅠ ㅢㅣ"
_NEAR_FINALS: Final = "ㅅㅆ ㄱㄲ ㄴㅇ ㅁㄴ ㄷㅅ ㄹㄴ ㅂㅍ ㅈㅊ ·ㄴ ·ㅅ ·ㅇ ·ㄱ ·ㄹ"
_KEYS: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")

# Digits that end in a consonant when read: 영 일 삼 육 칠 팔; so do 십, 백, 천 and 만.
_CLOSED_DIGITS: Final = "013678"
_RIEUL_DIGITS: Final = "178"
_RIEUL: Final = _FINAL_JAMO.index("ㄹ")
_CIRCLED_MAX: Final = 20
_WIDE: Final = ord("！") - ord("!")


@dataclass(frozen=True, slots=True, kw_only=True)
class Particle:
    """A particle in its two forms.

    Attributes:
        closed: after a final consonant.
        open: after a vowel.
        open_after_rieul: whether ㄹ counts as a vowel, as in 서울로.
    """

    closed: str
    open: str
    open_after_rieul: bool = False

    @property
    def name(self) -> str:
        """Both forms, such as "을/를"; one if they are equal."""
        return self.closed if self.closed == self.open else f"{self.closed}/{self.open}"


def _same(form: str) -> Particle:
    return Particle(closed=form, open=form)


PARTICLES: Final = (
    Particle(closed="을", open="를"),
    Particle(closed="이", open="가"),
    Particle(closed="은", open="는"),
    Particle(closed="과", open="와"),
    Particle(closed="으로", open="로", open_after_rieul=True),
    _same("의"),
    _same("에서"),
    _same("에"),
    _same("도"),
    _same("까지"),
)


def with_particle(text: str, particle: Particle) -> str | None:
    """Attach a particle in the form that the last sound asks for.

    A final digit is read in Korean. Anything else than a Hangul syllable or a digit at the end has
    no one reading: None.

    >>> eul, ro = PARTICLES[0], PARTICLES[4]
    >>> [with_particle(text, eul) for text in ("바다", "섬", "1984", "10", "ETF")]
    ['바다를', '섬을', '1984를', '10을', None]
    >>> [with_particle(text, ro) for text in ("바다", "서울", "섬")]
    ['바다로', '서울로', '섬으로']
    """
    last = text[-1:]
    if FIRST <= last <= LAST:
        final = (ord(last) - ord(FIRST)) % _FINALS
        closed, rieul = final > 0, final == _RIEUL
    elif last.isascii() and last.isdecimal():
        closed, rieul = last in _CLOSED_DIGITS, last in _RIEUL_DIGITS
    else:
        return None
    opened = not closed or (rieul and particle.open_after_rieul)
    return text + (particle.open if opened else particle.closed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Misspelling:
    """A text with one letter wrong.

    Attributes:
        text: the text.
        kind: "jamo changed", "syllable changed" or "latin letter changed".
    """

    text: str
    kind: str


def misspelt(text: str, *, seed: str, taken: Callable[[str], bool]) -> Misspelling | None:
    """Return a text with exactly one letter replaced by a near one.

    A Hangul syllable gets one jamo that sounds alike or lies beside it on the keyboard ("jamo
    changed"), or keeps only its initial or only its vowel ("syllable changed"); a Latin letter
    becomes its neighbour on the keyboard. Digits stay: another number is another book. Which letter
    and which change follow from the seed.

    Args:
        text: the text, NFC.
        seed: decides among the possible mistakes.
        taken: whether a text means something else, such as another book's title; it is passed over.

    Returns:
        None if the text has no such letter, or if all that were tried are taken.

    >>> misspelt("!?", seed="s", taken=lambda _: False) is None
    True
    """
    rng = seeded_rng(seed)
    places = [at for at, mark in enumerate(text) if _is_hangul(mark) or _is_latin(mark)]
    for at in rng.permutation(len(places)).tolist():
        place = places[at]
        mark = text[place]
        for kind, other in _mistakes(mark, rng):
            wrong = text[:place] + other + text[place + 1 :]
            if other != mark and not taken(wrong):
                return Misspelling(text=wrong, kind=kind)
    return None


def _is_hangul(mark: str) -> bool:
    return FIRST <= mark <= LAST


def _is_latin(mark: str) -> bool:
    return mark.isascii() and mark.isalpha()


def _mistakes(mark: str, rng: np.random.Generator) -> Iterator[tuple[str, str]]:
    """Yield kinds and letters, in a drawn order."""
    if _is_latin(mark):
        for other in _drawn(_beside(mark.lower()), rng):
            yield "latin letter changed", other.upper() if mark.isupper() else other
        return
    near, far = list(near_syllables(mark)), list(_half_syllables(mark, rng))
    kinds = [("jamo changed", _drawn(near, rng)), ("syllable changed", _drawn(far, rng))]
    for at in rng.permutation(len(kinds)).tolist():
        kind, others = kinds[at]
        for other in others:
            yield kind, other


def near_syllables(syllable: str) -> Iterator[str]:
    """Yield the syllables that differ from one in one jamo that is easily mistaken.

    >>> "".join(near_syllables("개"))
    '캐깨게갠갯갱객갤'
    """
    initial, medial, final = _parts(syllable)
    for other in _near(_INITIAL_JAMO, _NEAR_INITIALS, initial):
        yield _syllable(other, medial, final)
    for other in _near(_MEDIAL_JAMO, _NEAR_MEDIALS, medial):
        yield _syllable(initial, other, final)
    for other in _near(_FINAL_JAMO, _NEAR_FINALS, final):
        yield _syllable(initial, medial, other)


def _half_syllables(syllable: str, rng: np.random.Generator) -> Iterator[str]:
    """Yield two open syllables: one keeps the initial of a syllable, one its vowel."""
    initial, medial, final = _parts(syllable)
    step = 1 + int(rng.integers(_MEDIALS - 1))
    yield _syllable(initial, (medial + step) % _MEDIALS, 0 if final else _RIEUL)
    count = len(_INITIAL_JAMO)
    step = 1 + int(rng.integers(count - 1))
    yield _syllable((initial + step) % count, medial, 0 if final else _RIEUL)


def circled_digits(text: str) -> str:
    """Write the whole numbers from 1 to 20 as circled ones; leading zeros and longer runs stay.

    >>> circled_digits("해리포터 2"), circled_digits("1984, 007, 20")
    ('해리포터 ②', '1984, 007, ⑳')
    """
    out, at = [], 0
    while at < len(text):
        end = at
        while end < len(text) and text[end].isascii() and text[end].isdecimal():
            end += 1
        run = text[at:end]
        if run and run[0] != "0" and int(run) <= _CIRCLED_MAX:
            out.append(chr(ord("①") + int(run) - 1))
        else:
            out.append(run or text[at])
        at = max(end, at + 1)
    return "".join(out)


def full_width(text: str) -> str:
    """Write ASCII letters, digits and punctuation in full width, spaces as ideographic ones.

    >>> full_width("ABC 살인 1")
    'ＡＢＣ\u3000살인\u3000１'
    """
    return "".join(
        chr(ord(mark) + _WIDE) if "!" <= mark <= "~" else "\u3000" if mark == " " else mark
        for mark in text
    )


def decomposed(text: str) -> str:
    """Write Hangul syllables as their letters (NFD), as file names of some systems hold them.

    >>> len(decomposed("섬")), unicodedata.normalize("NFC", decomposed("섬"))
    (3, '섬')
    """
    return unicodedata.normalize("NFD", text)


def _parts(syllable: str) -> tuple[int, int, int]:
    rest, final = divmod(ord(syllable) - ord(FIRST), _FINALS)
    return (*divmod(rest, _MEDIALS), final)


def _syllable(initial: int, medial: int, final: int) -> str:
    return chr(ord(FIRST) + (initial * _MEDIALS + medial) * _FINALS + final)


def _near(jamo: str, pairs: str, at: int) -> Iterator[int]:
    for pair in pairs.split():
        if jamo[at] in pair:
            yield jamo.index(pair[1 - pair.index(jamo[at])])


def _beside(letter: str) -> list[str]:
    row = next(row for row in _KEYS if letter in row)
    at = row.index(letter)
    return [*row[max(0, at - 1) : at], *row[at + 1 : at + 2]]


def _drawn(letters: list[str], rng: np.random.Generator) -> list[str]:
    return [letters[at] for at in rng.permutation(len(letters)).tolist()]
