import random
from pathlib import Path

import polars as pl
import pytest

from lifehelper_data.domain.search import QueryAnalysis, analyse_query
from lifehelper_data.models.korean import KoreanAnalyser

BOOKS = Path(__file__).resolve().parents[2] / "fixtures" / "shop" / "books.csv"


@pytest.fixture(scope="module")
def analyser() -> KoreanAnalyser:
    return KoreanAnalyser()


@pytest.mark.parametrize(
    "text", ["투자", "투자를", "투자의", "투자가", "투자는", "투자에서", " 투자 "]
)
def test_particles_do_not_change_the_word(analyser: KoreanAnalyser, text: str) -> None:
    assert analyser.content_words([text]) == [["투자"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ETF 투자", ["etf", "투자"]),
        ("ＥＴＦ", ["etf"]),
        ("1987", ["1987"]),
        ("1,000원", ["1000"]),  # a bound noun is not content; separators do not matter
        ("해리포터 ②", ["해리포터", "2"]),
        ("三國志", ["三國志"]),
        ("책을 읽었다", ["책", "읽다"]),
        ("아름다운 하루", ["아름답다", "하루"]),
        ("따뜻한 위로", ["따뜻", "위로"]),
        ("따뜻하다", ["따뜻"]),
        ("사랑하는 사람", ["사랑", "사람"]),
        ("흔한 일", ["흔하다", "일"]),  # a root of one syllable stays with its verb
        ("나는 너를", []),
        ("#힐링", ["힐링"]),
        ("?! ...", []),
        ("", []),
    ],
)
def test_content_words(analyser: KoreanAnalyser, text: str, expected: list[str]) -> None:
    assert analyser.content_words([text]) == [expected]


@pytest.mark.parametrize("noun", ["위로", "아이", "흐름", "기쁨", "내면", "영원"])
def test_lexicon_holds_nouns_together_alone_and_before_a_particle(
    analyser: KoreanAnalyser, noun: str
) -> None:
    assert analyser.content_words([noun, f"{noun}의"]) == [[noun], [noun]]


def test_no_texts_give_no_words(analyser: KoreanAnalyser) -> None:
    assert analyser.content_words([]) == []


def test_query_loses_its_particles_only(analyser: KoreanAnalyser) -> None:
    assert analyser.analyse_query("주식 투자의 역사를") == QueryAnalysis(
        words=("주식", "투자", "역사"), bare="주식 투자 역사"
    )


def test_query_tokens_are_the_same_with_and_without_particle(analyser: KoreanAnalyser) -> None:
    with_particle, without = (
        analyse_query("투자의 역사를", analyser),
        analyse_query("투자 역사", analyser),
    )
    assert with_particle == without
    assert without.bigrams == ("투자", "자역", "역사")


def test_query_of_punctuation_has_no_tokens(analyser: KoreanAnalyser) -> None:
    tokens = analyse_query("?!…", analyser)
    assert (tokens.words, tokens.bigrams) == ((), ())


def test_query_of_a_particle_keeps_its_letters(analyser: KoreanAnalyser) -> None:
    assert analyse_query("에서", analyser).bigrams == ("에서",)


def test_words_do_not_depend_on_which_texts_share_a_call(analyser: KoreanAnalyser) -> None:
    texts = pl.read_csv(BOOKS)["description"].drop_nulls().head(120).to_list()
    together = analyser.content_words(texts)
    shuffled = list(range(len(texts)))
    random.Random(1).shuffle(shuffled)
    again = analyser.content_words([texts[at] for at in shuffled])
    assert [together[at] for at in shuffled] == again
    assert [analyser.content_words([text])[0] for text in texts[:20]] == together[:20]


def test_query_words_are_the_words_of_a_document(analyser: KoreanAnalyser) -> None:
    titles = pl.read_csv(BOOKS)["title"].head(100).to_list()
    words = [tuple(found) for found in analyser.content_words(titles)]
    assert [analyser.analyse_query(title).words for title in titles] == words


def test_version_names_everything_the_words_depend_on(analyser: KoreanAnalyser) -> None:
    version = analyser.version
    assert all(part in version for part in ("kiwipiepy ", "model ", "lexicon ", "content-1"))
