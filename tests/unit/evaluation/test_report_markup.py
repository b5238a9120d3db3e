"""Every value of the page is escaped."""

import pytest

from lifehelper_data.evaluation.report.markup import (
    Html,
    details,
    escape,
    korean,
    korean_text,
    note,
    number,
    paragraph,
    share,
    table,
)

HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>&amp;"
ESCAPED = (
    "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&quot;&gt;"
    "&lt;img src=x onerror=alert(1)&gt;&amp;amp;"
)


@pytest.mark.parametrize(
    "made",
    [
        paragraph(HOSTILE),
        note(HOSTILE),
        korean_text(HOSTILE),
        details(HOSTILE, Html("")),
        table(HOSTILE, ("a",), []),
        table("", (HOSTILE,), []),
        table("", ("a",), [(HOSTILE,)]),
        table("", (korean("a"), number("b")), [("", HOSTILE)]),
        table(HOSTILE, ("a",), [], filterable=True),
    ],
)
def test_a_hostile_text_is_shown_not_run(made: Html) -> None:
    assert ESCAPED in made.source
    assert "<script" not in made.source
    assert "<img" not in made.source


def test_only_html_passes_as_it_is() -> None:
    assert paragraph("<b>", Html("<b>1</b>")).source == "<p>&lt;b&gt;<b>1</b></p>\n"


def test_control_characters_become_pictures() -> None:
    assert escape("책\x00\x1b\x08 \t\n") == "책␀␛␈ \t\n"


def test_cells_show_gaps_truth_and_thousands() -> None:
    made = table("t", ("a", "b", number("c"), "d"), [(None, True, 12345, "12345")]).source
    assert '<th scope="row">–</th><td>yes</td><td class="n">12,345</td><td>12345</td>' in made


def test_a_row_that_does_not_fit_the_columns_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        table("t", ("a", "b"), [("only one",)])


def test_a_share_never_rounds_to_nothing_or_all() -> None:
    assert share(1, 1_000_000) == "< 0.1%"
    assert share(999_999, 1_000_000) == "> 99.9%"
    assert share(1_000_000, 1_000_000) == "100.0%"
    assert share(0, 0) == "undefined"
