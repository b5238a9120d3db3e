"""What a keyword query is: fields, weights, the tokens of a text."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from lifehelper_data.domain.text.bigrams import bigrams


class Field(StrEnum):
    """A searched field under one analysis. The order is the order in which scores are added."""

    TITLE = "title"
    AUTHOR = "author"
    DESCRIPTION = "description"
    TITLE_BIGRAMS = "title_bigrams"
    AUTHOR_BIGRAMS = "author_bigrams"

    @property
    def by_bigrams(self) -> bool:
        """Whether the field holds character bigrams; else it holds morphemes."""
        return self in {Field.TITLE_BIGRAMS, Field.AUTHOR_BIGRAMS}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordWeights:
    """How much a match counts, by field and analysis; all >= 0.

    Attributes:
        title: weight of the title.
        author: weight of the author.
        description: weight of the description.
        bigrams: factor on title and author where bigrams match instead of morphemes.
    """

    title: float = 3.0
    author: float = 2.0
    description: float = 0.5
    bigrams: float = 0.5

    def of(self, field: Field) -> float:
        """Return the weight of a field.

        >>> KeywordWeights(title=3, bigrams=0.5).of(Field.TITLE_BIGRAMS)
        1.5
        """
        match field:
            case Field.TITLE:
                return self.title
            case Field.AUTHOR:
                return self.author
            case Field.DESCRIPTION:
                return self.description
            case Field.TITLE_BIGRAMS:
                return self.title * self.bigrams
            case Field.AUTHOR_BIGRAMS:
                return self.author * self.bigrams


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAnalysis:
    """A query as an analyser sees it.

    Attributes:
        words: content words in order, repeats included.
        bare: the query without its particles.
    """

    words: tuple[str, ...]
    bare: str


class TextAnalyser(Protocol):
    """Finds the content words of texts."""

    @property
    def version(self) -> str:
        """What the result depends on: analyser, model, lexicon and rules. Part of the index."""
        ...

    def content_words(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the content words of each text, in order, repeats included."""
        ...

    def analyse_query(self, text: str) -> QueryAnalysis:
        """Return the same words for one text, and the text without its particles."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryTokens:
    """The tokens of a query under both analyses, in order; a repeated token counts again.

    Attributes:
        words: morphemes, looked up in title, author and description.
        bigrams: character bigrams, looked up in title and author.
    """

    words: tuple[str, ...] = ()
    bigrams: tuple[str, ...] = ()

    def of(self, field: Field) -> tuple[str, ...]:
        """Return the tokens that are looked up in a field."""
        return self.bigrams if field.by_bigrams else self.words


def analyse_query(text: str, analyser: TextAnalyser) -> QueryTokens:
    """Return the tokens of a query; none if it holds no letter or digit.

    Bigrams are taken without the particles, so that "투자를" and "투자" ask for the same ones; a
    query of particles only ("이나", also a name) keeps them.
    """
    seen = analyser.analyse_query(text)
    return QueryTokens(words=seen.words, bigrams=tuple(bigrams(seen.bare) or bigrams(text)))
