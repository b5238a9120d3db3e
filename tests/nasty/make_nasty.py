"""Byte-exact nasty files, each with what must become of it.

Write the files again with `python -m tests.nasty.make_nasty`; a test holds them against this table.
Every expectation is counted by hand from the bytes beside it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lifehelper_data.domain.errors import LifehelperError, SourceError

FOLDER: Final = Path(__file__).parent / "files"
Row = tuple[str | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Nasty:
    """A file and what must become of it.

    Attributes:
        content: its bytes.
        spec: keys of its `[files.x]` besides the path.
        rows: the rows that must be read.
        rejected: line number -> reason of every line that must be rejected.
        error: the error the file as a whole must raise.
    """

    content: bytes
    spec: Mapping[str, object] = field(default_factory=dict)
    rows: tuple[Row, ...] = ()
    rejected: Mapping[int, str] = field(default_factory=dict)
    error: type[LifehelperError] | None = None


NASTY: Final[dict[str, Nasty]] = {
    # Empty and almost empty
    "empty.csv": Nasty(content=b"", error=SourceError),
    "empty_declared.csv": Nasty(content=b"", spec={"columns": ["a", "b"]}),
    "blank_lines_only.csv": Nasty(content=b"\n \r\n\t\n\r", error=SourceError),
    "header_only.csv": Nasty(content=b"a,b\n"),
    "one_line_no_newline.csv": Nasty(content=b"a,b"),
    "one_row_no_newline.csv": Nasty(content=b"a,b\n1,2", rows=(("1", "2"),)),
    "bom_only.csv": Nasty(content=b"\xef\xbb\xbf", error=SourceError),
    "one_column_with_blanks.csv": Nasty(content=b"a\n1\n\n \n2\n", rows=(("1",), ("2",))),
    # Line ends and marks
    "bom.csv": Nasty(content=b"\xef\xbb\xbfa,b\n1,2\n", rows=(("1", "2"),)),
    "crlf.csv": Nasty(content=b"a,b\r\n1,2\r\n3,\r\n", rows=(("1", "2"), ("3", None))),
    "bare_cr.csv": Nasty(content=b"a,b\r1,2\r3,4\r", rows=(("1", "2"), ("3", "4"))),
    "mixed_ends.csv": Nasty(
        content=b"a,b\r\n1,2\r3,4\n\r\n5,6", rows=(("1", "2"), ("3", "4"), ("5", "6"))
    ),
    "unicode_separators_are_text.csv": Nasty(
        content="a,b\n1\u2028x,2\x0by\x0cz\x1c\n".encode(),
        rows=(("1\u2028x", "2\x0by\x0cz\x1c"),),
    ),
    # Quotes
    "quotes_only.csv": Nasty(content=b'"""', error=SourceError),
    "quotes_below_header.csv": Nasty(
        content=b'a,b\n"""\n""""\n""\n"\n',
        rejected={
            2: "unclosed_quote",  # """ goes on into line 3, where text follows a closing quote
            3: "column_count",  # """" is one field, a quote
            4: "column_count",  # "" is one field, empty
            5: "unclosed_quote",
        },
    ),
    "quoted_line_breaks.csv": Nasty(
        content=b'a,b\n"x\r\ny",1\n"","say ""hi"""\n',
        rows=(("x\ny", "1"), (None, 'say "hi"')),
    ),
    "stray_quote_inside_field.csv": Nasty(content=b'a,b\n5" disk,1\n', rows=(('5" disk', "1"),)),
    "unclosed_quote.csv": Nasty(
        content=b'a,b\n"lost,1\nkept,2\nkept,3\n',
        rows=(("kept", "2"), ("kept", "3")),
        rejected={2: "unclosed_quote"},
    ),
    "text_after_quote.csv": Nasty(
        content=b'a,b\n"x"y,1\nkept,2\n', rows=(("kept", "2"),), rejected={2: "unclosed_quote"}
    ),
    "quote_swallows_next_record.csv": Nasty(
        content=b'a,b\n"x,1\n"y",2\n',
        rows=(("y", "2"),),  # '"x,1\n"' closes before y: only line 2 is given up
        rejected={2: "unclosed_quote"},
    ),
    "no_quoting.csv": Nasty(
        content=b'a,b\n"x,1\n"y",2\n', spec={"quote": ""}, rows=(('"x', "1"), ('"y"', "2"))
    ),
    "quoted_header.csv": Nasty(  # a name with a line break, or a stray quote that swallows a row?
        content=b'"a\nb",c\n1,2\n', error=SourceError
    ),
    "quoted_header_declared.csv": Nasty(
        content=b'"a\nb",c\n1,2\n', spec={"columns": ["a", "c"]}, rows=(("1", "2"),)
    ),
    # Columns
    "ragged.csv": Nasty(
        content=b"a,b\n1\n1,2\n1,2,3\n,\n",
        rows=(("1", "2"), (None, None)),
        rejected={2: "column_count", 4: "column_count"},
    ),
    "duplicate_headers.csv": Nasty(content=b"a,b,A\n1,2,3\n", error=SourceError),
    "duplicate_headers_declared.csv": Nasty(
        content=b"a,b,A\n1,2,3\n", spec={"columns": ["a", "b", "c"]}, rows=(("1", "2", "3"),)
    ),
    "duplicate_declared_columns.csv": Nasty(
        content=b"1,2\n", spec={"header": False, "columns": ["a", "a"]}, error=SourceError
    ),
    "blank_headers.csv": Nasty(content=b"a,, \n1,2,3\n", rows=(("1", "2", "3"),)),
    "too_many_columns.csv": Nasty(content=b"," * 2_000 + b"\n", error=SourceError),
    "no_header.csv": Nasty(
        content=b"1,2\n3,4\n",
        spec={"header": False, "columns": ["a", "b"]},
        rows=(("1", "2"), ("3", "4")),
    ),
    "null_values.csv": Nasty(
        content=b"a,b\nNA,X\n na,XX\n",
        spec={"null_values": ["NA", "X"]},
        rows=((None, None), (" na", "XX")),
    ),
    "blank_fields_only.tsv": Nasty(
        content=b"a\tb\n\t\n \n1\t2\n",
        rows=((None, None), ("1", "2")),  # a line of tabs is a row, a line of blanks is not
    ),
    # Bytes
    "nul.csv": Nasty(
        content=b"a,b\n1,\x002\n3,4\n\x00\n",
        rows=(("3", "4"),),
        rejected={2: "nul", 4: "nul"},
    ),
    "nul_header.csv": Nasty(content=b"a,\x00b\n1,2\n", error=SourceError),
    "broken_utf8.csv": Nasty(
        content=b"a,b\n1,\xff\n\xea\xb0\x80,2\n3,\xea\xb0\n\xed\xa0\x80,4\n",
        rows=(("가", "2"),),  # line 5 is a surrogate written in UTF-8
        rejected={2: "broken_encoding", 4: "broken_encoding", 5: "broken_encoding"},
    ),
    "broken_utf8_header.csv": Nasty(content=b"a,\xff\n1,2\n", error=SourceError),
    "broken_line_inside_quotes.csv": Nasty(
        content=b'a,b\n"x\n\xff\ny",1\n2,3\n',
        rows=(('y"', "1"), ("2", "3")),  # line 4 by itself is a row: its quote starts no field
        rejected={2: "unclosed_quote", 3: "broken_encoding"},
    ),
    "cp949.csv": Nasty(
        content="a,b\n똠방각하,1\n".encode("cp949"),
        spec={"encoding": "euc-kr"},
        rows=(("똠방각하", "1"),),
    ),
    "cp949_broken.csv": Nasty(
        content=b"a,b\n\xb0\xa1,1\n\xb0,2\n\xc9\xff,3\n\xff,4\n",
        spec={"encoding": "cp949"},
        rows=(("가", "1"),),
        rejected={3: "broken_encoding", 4: "broken_encoding", 5: "broken_encoding"},
    ),
    "cp949_read_as_utf8.csv": Nasty(content="책,값\n".encode("cp949"), error=SourceError),
    "utf8_read_as_ascii.csv": Nasty(
        content="a,b\n가,1\nx,2\n".encode(),
        spec={"encoding": "ascii"},
        rows=(("x", "2"),),
        rejected={2: "broken_encoding"},
    ),
    "utf16.csv": Nasty(
        content="a,b\r\n가,1\r\n😀,2".encode("utf-16"),
        spec={"encoding": "utf-16"},
        rows=(("가", "1"), ("😀", "2")),
    ),
    "utf16_le_with_mark.csv": Nasty(
        content="\ufeffa,b\n1,2\n".encode("utf-16-le"),
        spec={"encoding": "utf-16-le"},
        rows=(("1", "2"),),
    ),
    "utf16_odd_byte.csv": Nasty(
        content="a,b\n1,2\n".encode("utf-16-be") + b"\x00",
        spec={"encoding": "utf-16-be"},
        rows=(("1", "2"),),
        rejected={3: "broken_encoding"},
    ),
    "utf16_lone_surrogate.csv": Nasty(
        content="a,b\n1,".encode("utf-16-le") + b"\x00\xd8" + "\n3,4\n".encode("utf-16-le"),
        spec={"encoding": "utf-16-le"},
        rows=(("3", "4"),),
        rejected={2: "broken_encoding"},
    ),
    "utf16_read_as_utf8.csv": Nasty(content="a,b\n1,2\n".encode("utf-16"), error=SourceError),
    # JSON lines
    "empty.jsonl": Nasty(content=b"", error=SourceError),
    "plain.jsonl": Nasty(
        content='\ufeff{"a": "x", "b": 1}\n{"b": null, "a": true}\r\n\n{"A": false}'.encode(),
        rows=(("x", "1"), ("true", None), ("false", None)),
    ),
    "wrong_types.jsonl": Nasty(
        content=b'{"a": 1}\n[1]\n"x"\n7\nnull\ntrue\n{"a": NaN}\n{"a": Infinity}\n',
        rows=(("1",),),
        rejected={
            2: "not_object",
            3: "not_object",
            4: "not_object",
            5: "not_object",
            6: "not_object",
            7: "not_json",
            8: "not_json",
        },
    ),
    "broken.jsonl": Nasty(
        content=b'{"a": 1\n{"a": 1}}\n{a: 1}\n{"a": "x\n\'\n{"a": 01}\n{"a": 2}\n',
        rows=(("2",),),
        rejected=dict.fromkeys(range(1, 7), "not_json"),
    ),
    "deep.jsonl": Nasty(
        content=b'{"a": ' + b"[" * 3_000 + b"]" * 3_000 + b"}\n"
        b'{"a": ' + b"[" * 600 + b"]" * 600 + b"}\n"
        b'{"a": [[1]]}\n',
        rows=(("[[1]]",),),
        rejected={1: "not_json", 2: "not_json"},
    ),
    "duplicate_keys.jsonl": Nasty(
        content=b'{"a": 1, "a": 2}\n{"a": 1, "A": 2}\n{"a": 1, " a": 2}\n'
        b'{"a": {"x": 1, "x": 2}}\n{"a": 3}\n',
        rows=(("3",),),
        rejected=dict.fromkeys(range(1, 5), "duplicate_key"),
    ),
    "empty_objects.jsonl": Nasty(
        content=b'{}\n{"a": 1}\n{}\n',
        rows=(("1",),),
        rejected={1: "empty_object", 3: "empty_object"},
    ),
    "only_empty_objects.jsonl": Nasty(content=b"{}\n{}\n", error=SourceError),
    "surrogates.jsonl": Nasty(
        content=b'{"a": "\\ud83d\\ude00"}\n{"a": "\\ud83d"}\n{"a": ["\\ude00"]}\n{"\\ud800": 1}\n',
        rows=(("😀",),),
        rejected={2: "broken_encoding", 3: "broken_encoding", 4: "broken_encoding"},
    ),
    "nul.jsonl": Nasty(
        content=b'{"a": "x\\u0000"}\n{"a\\u0000": 1}\n{"a": "\x00"}\n{"a": 1}\n',
        rows=(("1",),),
        rejected={1: "nul", 2: "nul", 3: "nul"},
    ),
    "long_numbers.jsonl": Nasty(
        content=b'{"a": ' + b"9" * 400 + b"}\n"
        b'{"a": 1.' + b"0" * 400 + b"}\n"
        b'{"a": [' + b"8" * 5_000 + b"]}\n",
        rows=(("9" * 400,), ("1." + "0" * 400,), ("[" + "8" * 5_000 + "]",)),
    ),
    "utf16.jsonl": Nasty(
        content='{"a": "가"}\n'.encode("utf-16"), spec={"encoding": "utf-16"}, rows=(("가",),)
    ),
    "nested.jsonl": Nasty(
        content='{"a": {"x": [1.50, "가", null, true]}, "b": []}\n'.encode(),
        rows=(('{"x":[1.50,"가",null,true]}', "[]"),),
    ),
    # Parquet
    "not_parquet.parquet": Nasty(content=b"PAR1 no, this is text PAR1", error=SourceError),
    "empty.parquet": Nasty(content=b"", error=SourceError),
}


def main() -> None:
    """Write every file."""
    FOLDER.mkdir(exist_ok=True)
    for name, nasty in NASTY.items():
        (FOLDER / name).write_bytes(nasty.content)


if __name__ == "__main__":
    main()
