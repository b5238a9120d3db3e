"""Files of cases: every line is a case or is named."""

from pathlib import Path

import pytest

from lifehelper_data.domain.errors import InvalidRequest, NotFound
from lifehelper_data.evaluation.cases import CaseSet, DataKind
from lifehelper_data.evaluation.cases_file import read_cases
from lifehelper_data.evaluation.suites.search_cases import LabelledQuery, labelled_case

GOOD = '{"case_id": "a", "query": "책", "relevant": {"1": 3}}'


def read(tmp_path: Path, content: bytes | str) -> CaseSet:
    file = tmp_path / "cases.jsonl"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_cases(file, LabelledQuery, labelled_case, schema="search-cases")


def test_a_line_becomes_a_case(tmp_path: Path) -> None:
    line = (
        '{"case_id": "a", "query": " 비 오는 날 ", "relevant": {"12": 3, "7": 0}, '
        '"family": "rain", "slices": {"kind": "mood"}, "split": "dev", "note": "why"}'
    )
    found = read(tmp_path, line + "\n")
    (case,) = found.cases
    assert found.kind is DataKind.LABELLED
    assert (case.case_id, case.family, case.note) == ("a", "rain", "why")
    assert case.input == {"query": "비 오는 날"}
    assert case.target == {"12": 3, "7": 0}
    assert case.slices == {"kind": "mood", "split": "dev"}


def test_family_defaults_to_the_case_and_relevant_may_be_empty(tmp_path: Path) -> None:
    (case,) = read(tmp_path, '{"case_id": "a", "query": "책", "relevant": {}}').cases
    assert (case.family, case.target, case.slices) == ("a", {}, {})


def test_byte_order_mark_and_carriage_returns_are_no_content(tmp_path: Path) -> None:
    second = GOOD.replace('"a"', '"b"').replace("책", "글")
    found = read(tmp_path, b"\xef\xbb\xbf" + f"{GOOD}\r\n{second}\r\n".encode())
    assert [case.case_id for case in found.cases] == ["a", "b"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "is blank"),
        ("{", "is not JSON"),
        ("[1]", "holds a list, not an object"),
        (GOOD.replace('"query"', '"qurey"'), "'query' is missing"),
        (GOOD[:-1] + ', "weight": 2}', "'weight' is unknown"),
        (GOOD[:-1] + ', "query": "x"}', "has 'query' twice"),
        (GOOD.replace("3}", "NaN}"), "NaN, which is no JSON number"),
        (GOOD.replace('"책"', '"  "'), "0 characters after trimming"),
        (GOOD.replace('"책"', '"' + "책" * 201 + '"'), "201 characters"),
        (GOOD.replace('"1"', '"one"'), "'one' is no book_id"),
        (GOOD.replace('"1"', '"01"'), "'01' is no book_id"),
        (GOOD.replace('"1"', '"9223372036854775808"'), "no 64-bit number"),
        (GOOD.replace("3}", "-1}"), "relevant.1 = -1"),
        (GOOD.replace("3}", '"3"}'), "relevant.1 = '3'"),
        (GOOD.replace('"책"', "12"), "query = 12"),
        (GOOD.replace('"책"', '"\\ud800"'), "unpaired surrogate"),
        (GOOD[:-1] + ', "split": "train"}', "split = 'train'"),
        ("[" * 100_000, "is nested too deeply"),
    ],
)
def test_a_bad_line_is_named_with_its_number_and_no_case_is_used(
    tmp_path: Path, line: str, says: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read(tmp_path, f"{GOOD}\n{line}\n{GOOD}\n")
    message = str(refused.value)
    assert "'cases.jsonl' has 1 bad line, and no case was used: line 2: " in message
    assert says in message
    assert "lifehelper schema search-cases" in message
    assert "\n" not in message


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"line 1: is not UTF-8 \(byte 3\)"):
        read(tmp_path, b'{"\xff": 1}')


def test_the_first_five_of_many_bad_lines_are_shown_and_all_are_counted(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read(tmp_path, "x\n" * 7)
    message = str(refused.value)
    assert "has 7 bad lines" in message
    assert "line 5:" in message
    assert "line 6:" not in message


def test_an_empty_file_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="holds no case"):
        read(tmp_path, "")
    with pytest.raises(NotFound, match="no file of cases"):
        read_cases(tmp_path / "absent", LabelledQuery, labelled_case, schema="search-cases")
