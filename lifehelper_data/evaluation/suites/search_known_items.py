"""Known items: queries for one book of the catalog, as somebody who knows its title writes them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from lifehelper_data.domain.search.exact_title import title_key
from lifehelper_data.domain.text.normalize import has_letter_or_digit, normalize, squash
from lifehelper_data.evaluation.cases import Case, CaseSet, DataKind
from lifehelper_data.evaluation.report.samples import bare_author
from lifehelper_data.evaluation.search_seeds import seeded_rng
from lifehelper_data.evaluation.search_variants import (
    PARTICLES,
    circled_digits,
    decomposed,
    full_width,
    misspelt,
    with_particle,
)
from lifehelper_data.evaluation.suite import SuiteContext
from lifehelper_data.runtime.requests import QUERY_MAX
from lifehelper_data.runtime.workspace import Workspace
from lifehelper_data.stores.eval_books import books_of_authors, sampled_books

EXACT: Final = "exact title"
SPACELESS: Final = "title without spaces"
MISSPELT: Final = "one letter wrong"
PARTICLE: Final = "particle attached"
SIGNED: Final = "author and part of the title"
WIDE: Final = "full width"
CIRCLED: Final = "circled digits"
DECOMPOSED: Final = "letters taken apart"
QUERY_TYPES: Final = (EXACT, SPACELESS, MISSPELT, PARTICLE, SIGNED, WIDE, CIRCLED, DECOMPOSED)
NFKC_TYPES: Final[dict[str, Callable[[str], str]]] = {
    WIDE: full_width,
    CIRCLED: circled_digits,
    DECOMPOSED: decomposed,
}
"""Other spellings of a title that have the same normal form."""

_LENGTHS: Final = ((3, "1-3"), (7, "4-7"), (15, "8-15"))


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownBook:
    """A book to look for.

    Attributes:
        book_id: the book.
        title: trimmed.
        author: the first name without role marks, or empty.
        described: whether it has a description, and so a vector.
    """

    book_id: int
    title: str
    author: str
    described: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A way to ask for a book.

    Attributes:
        kind: one of `QUERY_TYPES`.
        query: the query.
        slices: what else is told apart.
    """

    kind: str
    query: str
    slices: Mapping[str, str] = field(default_factory=dict)


def known_items(context: SuiteContext) -> CaseSet:
    """Make queries from a seeded sample of the catalog's books.

    Each book is asked for in every way of `QUERY_TYPES` that its title and author allow (see
    `ways_to_ask`). Relevant, grade 1, is every book that the query names just as well: those of an
    equal title, or those of the author whose title begins so. A way that does not fit into a query
    is left out and counted in the notes.
    """
    workspace = context.release
    seed, size = context.evaluation.seed, context.evaluation.sample
    rows = workspace.sql(sampled_books(seed, size)).to_polars()
    books = [
        KnownBook(
            book_id=row["book_id"],
            title=row["title"].strip(),
            author=bare_author(row["author"] or ""),
            described=row["described"],
        )
        for row in rows.iter_rows(named=True)
    ]
    usable = [book for book in books if _can_be_asked(book.title)]
    by_author = _by_author(workspace, sorted({book.author for book in usable if book.author}))
    titled = _titles(workspace)
    cases: list[Case] = []
    too_long = 0
    for book in usable:
        for asked in ways_to_ask(book, seed=seed, taken=lambda text: bool(titled(text))):
            if not _can_be_asked(asked.query):
                too_long += 1
            elif asked.kind == SIGNED:
                cases.append(_case(book, asked, _signed(book, by_author.get(book.author, {}))))
            else:
                cases.append(_case(book, asked, {book.book_id, *titled(book.title)}))
    notes = [f"{len(usable)} of {workspace.tables['books']:,} books sampled by seed {seed}"]
    if len(usable) < len(books):
        notes.append(
            f"{len(books) - len(usable)} sampled titles cannot be asked: longer than {QUERY_MAX} "
            "characters, or without a letter or digit"
        )
    if too_long:
        notes.append(f"{too_long} queries left out: longer than {QUERY_MAX} characters")
    return CaseSet.of(DataKind.GENERATED, cases, notes)


def ways_to_ask(book: KnownBook, *, seed: int, taken: Callable[[str], bool]) -> Iterator[Asked]:
    """Yield the ways a book is asked for, in the order of `QUERY_TYPES`.

    The title as it is; without its spaces, if it has any; with one letter wrong, if that makes no
    other book's title; with a particle in the form that its last sound asks for; the first author
    with the first half of the title, if there are an author and two words; and the spellings of
    `NFKC_TYPES` that differ from the title.

    Args:
        book: the book.
        seed: decides, with the book_id, mistake and particle.
        taken: whether a text is the title of some book.
    """
    title, name = book.title, f"{seed}:{book.book_id}"
    yield Asked(kind=EXACT, query=title)
    spaceless = "".join(title.split())
    if spaceless != title:
        yield Asked(kind=SPACELESS, query=spaceless)
    wrong = misspelt(title, seed=f"{name}:{MISSPELT}", taken=taken)
    if wrong is not None:
        yield Asked(kind=MISSPELT, query=wrong.text, slices={"mistake": wrong.kind})
    particle = PARTICLES[int(seeded_rng(f"{name}:{PARTICLE}").integers(len(PARTICLES)))]
    attached = with_particle(title, particle)
    if attached is not None and not taken(attached):
        yield Asked(kind=PARTICLE, query=attached, slices={"particle": particle.name})
    if book.author and len(title.split()) > 1:
        yield Asked(kind=SIGNED, query=f"{book.author} {_first_half(title)}")
    for kind, rewrite in NFKC_TYPES.items():
        if rewrite(title) != title:
            yield Asked(kind=kind, query=rewrite(title))


def _case(book: KnownBook, asked: Asked, relevant: set[int]) -> Case:
    return Case(
        case_id=f"{asked.kind}: {book.book_id}",
        family=f"book {book.book_id}",
        input={"query": asked.query},
        target={str(each): 1 for each in sorted(relevant)},
        slices={
            "query_type": asked.kind,
            "description": "yes" if book.described else "no",
            "title_letters": _length(book.title),
            **asked.slices,
        },
    )


def _first_half(title: str) -> str:
    words = title.split()
    return " ".join(words[: (len(words) + 1) // 2])


def _length(title: str) -> str:
    letters = sum(mark.isalnum() for mark in normalize(title))
    return next((label for most, label in _LENGTHS if letters <= most), "16+")


def _signed(book: KnownBook, titles: Mapping[int, str]) -> set[int]:
    part = squash(_first_half(book.title))
    return {book.book_id} | {o for o, title in titles.items() if squash(title).startswith(part)}


def _titles(workspace: Workspace) -> Callable[[str], list[int]]:
    catalog = workspace.search_engine().catalog
    return lambda text: catalog.titled(title_key(text), squash(text))


def _by_author(workspace: Workspace, names: list[str]) -> dict[str, dict[int, str]]:
    """Return book -> title by first author, for some first authors."""
    found: dict[str, dict[int, str]] = {name: {} for name in names}
    for book_id, title, author in workspace.sql(books_of_authors(names)).to_polars().iter_rows():
        if (name := bare_author(author)) in found:
            found[name][book_id] = title
    return found


def _can_be_asked(query: str) -> bool:
    return len(query) <= QUERY_MAX and has_letter_or_digit(query)
