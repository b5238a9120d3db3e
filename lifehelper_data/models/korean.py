"""Korean morphemes by Kiwi: the content words of titles, authors, descriptions and queries.

The only place that knows Kiwi (https://github.com/bab2min/kiwipiepy). What counts as a content
word is the table `CONTENT_TAGS`:

- nouns (NNG, NNP), numerals (NR), adverbs (MAG), roots (XR), foreign words (SL), Hanja (SH) and
  numbers (SN, without thousands separators) as they stand;
- verbs and adjectives (VV, VA) as stem + "다", so that "읽었다" and "읽는" meet and none meets a
  noun spelled like its stem; those in -하다 as their root, however Kiwi happens to take them apart
  ("따뜻한" is 따뜻하/VA or 따뜻/XR + 하/XSA, "사랑하는" meets "사랑");
- a name that Kiwi knows with a space ("데일 카네기") as its parts;
- everything else is dropped: particles, endings, affixes, auxiliaries, pronouns, bound nouns
  ("것", "권"), determiners, symbols. Adverbs stay because many words are adverb and noun ("오늘")
  and a token must not come and go with its sentence.
"""

import hashlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from lifehelper_data.domain.search import QueryAnalysis
from lifehelper_data.domain.text.normalize import RULES_VERSION, has_letter_or_digit, normalize

if TYPE_CHECKING:
    from kiwipiepy import Kiwi, Token  # type: ignore[import-untyped]  # ships no stubs

CONTENT_RULES_VERSION: Final = "content-1"  # raise it when a rule of this file changes
WORKERS: Final = 2

CONTENT_TAGS: Final = frozenset({"NNG", "NNP", "NR", "MAG", "XR", "SL", "SH", "SN", "VV", "VA"})
NOUN_TAGS: Final = frozenset({"NNG", "NNP"})
STEM_TAGS: Final = frozenset({"VV", "VA"})
_PARTICLE: Final = "J"
_TO_DO: Final = "하"
_NO_PATTERNS: Final = 0  # no special tokens for hashtags, addresses, serial numbers
_LEXICON: Final = "lexicon_ko.tsv"


class KoreanAnalyser:
    """Content words by Kiwi. Loads the model on first use, once per process; safe in threads."""

    @property
    def version(self) -> str:
        """Kiwi, model, lexicon and rules: texts analysed under two versions never mix."""
        return (
            f"kiwipiepy {version('kiwipiepy')} model {version('kiwipiepy_model')} "
            f"lexicon {_lexicon_hash()} {CONTENT_RULES_VERSION} {RULES_VERSION}"
        )

    def content_words(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the content words of each text, in order, repeats included.

        Args:
            texts: any texts; each is normalised first. Analysed side by side in two threads; the
                result does not depend on that, nor on which texts share a call.

        Returns:
            One list per text, in the order given; empty for a text without content words.

        >>> KoreanAnalyser().content_words(["투자를", "ETF 투자의 1,000", "?!"])
        [['투자'], ['etf', '투자', '1000'], []]
        """
        analysed = _kiwi().tokenize([normalize(text) for text in texts], _NO_PATTERNS)
        return [list(_words(tokens)) for tokens in analysed]

    def nouns(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the common and proper nouns (NNG, NNP) of each text, in order, repeats included.

        >>> KoreanAnalyser().nouns(["서울에서 읽는 투자의 역사 1권"])
        [['서울', '투자', '역사']]
        """
        analysed = _kiwi().tokenize([normalize(text) for text in texts], _NO_PATTERNS)
        return [[normalize(t.form) for t in tokens if t.tag in NOUN_TAGS] for tokens in analysed]

    def analyse_query(self, text: str) -> QueryAnalysis:
        """Return the content words of one text and the text without its particles.

        >>> KoreanAnalyser().analyse_query("투자의 역사를")
        QueryAnalysis(words=('투자', '역사'), bare='투자 역사')
        """
        query = normalize(text)
        tokens = _kiwi().tokenize(query, _NO_PATTERNS)
        return QueryAnalysis(words=tuple(_words(tokens)), bare=_without_particles(query, tokens))


def _words(tokens: "Iterable[Token]") -> Iterator[str]:
    for token in tokens:
        tag = token.tag.partition("-")[0]  # "VA-I": how it is inflected does not matter
        if tag not in CONTENT_TAGS:
            continue
        for form in normalize(token.form).split():  # some names hold spaces: "데일 카네기"
            if has_letter_or_digit(form):
                yield _word(form, tag)


def _word(form: str, tag: str) -> str:
    if tag in STEM_TAGS:
        root = form.removesuffix(_TO_DO)
        return root if root != form and len(root) > 1 else f"{form}다"
    return form.replace(",", "") if tag == "SN" else form


def _without_particles(text: str, tokens: "Iterable[Token]") -> str:
    kept, at = [], 0
    for token in tokens:
        if token.tag.startswith(_PARTICLE) and token.start >= at:
            kept.append(text[at : token.start])
            at = token.start + token.len
    return normalize("".join([*kept, text[at:]]))


def lexicon_words() -> frozenset[str]:
    """Return the words that the lexicon adds to Kiwi."""
    return frozenset(word for word, _, _ in _lexicon())


_loading = threading.Lock()


def _kiwi() -> "Kiwi":
    with _loading:  # two first searches at a time must not load two models
        return _loaded_kiwi()


@cache
def _loaded_kiwi() -> "Kiwi":
    from kiwipiepy import Kiwi  # its model takes over a second and 500 MB

    kiwi = Kiwi(num_workers=WORKERS)
    for word, tag, score in _lexicon():
        kiwi.add_user_word(word, tag, score)
    return kiwi


def _lexicon() -> Iterator[tuple[str, str, float]]:
    for line in _lexicon_text().splitlines():
        if line and not line.startswith("#"):
            word, tag, score = line.split("\t")
            yield word, tag, float(score)


@cache
def _lexicon_text() -> str:
    return files("lifehelper_data.models").joinpath(_LEXICON).read_text(encoding="utf-8")


def _lexicon_hash() -> str:
    return hashlib.sha256(_lexicon_text().encode()).hexdigest()[:12]
