"""The first paragraph of the page: what the release is, in numbers with their denominators."""

from lifehelper_data.domain.contract import HISTORY_TABLES
from lifehelper_data.evaluation.data_quality import sales_share_of_top
from lifehelper_data.evaluation.report.content import KEYWORD_INDEX, PageContent
from lifehelper_data.evaluation.report.markup import Html, paragraph, part_of, plural, share, strong
from lifehelper_data.evaluation.report.search_section import known_items


def summary(content: PageContent) -> Html:
    """Return the summary."""
    return paragraph(
        "This page describes ", strong(f"release {content.release.number}"),
        " of a book shop's data: ", strong(_size(content)), ". ",
        _came_in(content), " ", _found(content), " ", _sales(content), " ", _checks(content),
    )  # fmt: skip


def _size(content: PageContent) -> str:
    history = content.quality.history
    rows = sum(content.rows(table) for table in HISTORY_TABLES)
    users = history["user_id"].n_unique()
    return (
        f"{plural(content.rows('books'), 'book')} and {plural(rows, 'history row')} "
        f"(purchases, library, reviews) of {plural(users, 'user')}"
    )


def _came_in(content: PageContent) -> str:
    files, tables = content.quality.files, content.quality.tables
    lines, rejected = int(files["lines"].sum()), int(files["rejected"].sum())
    returned = int(tables["returned"].sum())

    def of_rows(name: str) -> str:
        count = int(tables[name].sum())
        return f"{count:,} ({share(count, returned)})"

    return (
        f"Of {plural(lines, 'line')} in {plural(files.height, 'source file')}, "
        f"{rejected:,} ({share(rejected, lines)}) could not be read as a row. Of "
        f"{plural(returned, 'row')} read into tables, {of_rows('kept')} were kept, "
        f"{of_rows('repeated')} repeated another row, {of_rows('duplicates')} lost against another "
        f"row of the same key, and {of_rows('quarantined')} had a bad value; those that lost and "
        "the bad ones are in quarantine."
    )


def _found(content: PageContent) -> str:
    books = content.rows("books")
    artifacts = content.release.content.artifacts
    if KEYWORD_INDEX not in artifacts:
        return "It holds tables only and cannot be searched."
    by_meaning = artifacts["books_vectors"].rows if "books_vectors" in artifacts else 0
    aimed, first = known_items(content)
    known = (
        f" In {first} of {aimed} sample searches for a known book, it came first." if aimed else ""
    )
    return (
        f"{part_of(artifacts[KEYWORD_INDEX].rows, books)} books can be found by their words and "
        f"{part_of(by_meaning, books)} by their meaning: those that have a description.{known}"
    )


def _sales(content: PageContent) -> str:
    popularity = content.quality.popularity
    top = sales_share_of_top(popularity, 0.1)
    if top is None:
        return "No copy was sold in the window."
    total = int(popularity["sales"].sum())
    return (
        f"The best-selling 10% of the books have {top:.1%} of all {total:,} copies sold in the "
        "window."
    )


def _checks(content: PageContent) -> str:
    held = sum(check.passed for check in content.checks)
    return f"{part_of(held, len(content.checks))} checks hold."
