import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifehelper_data.sources.quoting import BrokenQuote, QuotedRecord


def fields_of(*lines: str, quote: str = '"') -> list[str] | None:
    """Fields of a closed record; None while it is open."""
    record = QuotedRecord(",", quote)
    for line in lines:
        record.feed(line)
    return None if record.open else record.fields


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("", [""]),
        (",", ["", ""]),
        ('"",', ["", ""]),
        ('a,"b"', ["a", "b"]),
        ('"a,b",c', ["a,b", "c"]),
        ('"a""b"', ['a"b']),
        ('""""', ['"']),
        ('a"b,c"', ['a"b', 'c"']),
        (' "a"', [' "a"']),
        ('"', None),
        ('"a""', None),
        ('a,"', None),
    ],
)
def test_one_line(line: str, fields: list[str] | None) -> None:
    assert fields_of(line) == fields


def test_open_field_goes_on_in_the_next_line() -> None:
    assert fields_of('"a', "", 'b",c') == ["a\n\nb", "c"]
    assert fields_of('"a""', 'b"') == ['a"\nb']  # not doubled across the line break
    assert fields_of('"a', '"') == ["a\n"]


def test_other_quote() -> None:
    assert fields_of("'a,''b\"',c", quote="'") == ["a,'b\"", "c"]


@pytest.mark.parametrize("lines", [['"a"b'], ['"a" ,b'], ['"a', 'b"c']])
def test_text_after_a_closing_quote_is_an_error(lines: list[str]) -> None:
    with pytest.raises(BrokenQuote, match="after a closing quote"):
        fields_of(*lines)


@given(values=st.lists(st.text(st.sampled_from('ab,"\n'), max_size=6), min_size=1, max_size=6))
def test_written_record_comes_back(values: list[str]) -> None:
    written = ",".join('"' + value.replace('"', '""') + '"' for value in values)
    assert fields_of(*written.split("\n")) == values
