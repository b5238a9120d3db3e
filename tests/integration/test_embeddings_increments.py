"""Work is proportional to what changed: embeddings, presets and calibration, with a fake encoder.

Each test names the line without which it fails.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from lifehelper_data.domain.embedding_text import book_text
from lifehelper_data.pipelines.build import WholeBuild
from tests.integration.build_kit import identities, store
from tests.integration.search_kit import (
    LOAD_BATCH_ENCODER,
    Book,
    SearchShop,
    WordEncoder,
    artifact_identities,
    encoding_with,
    files_below,
    found_ids,
    nothing_loaded,
    report_of,
)

BOOKS = {
    n: Book(
        book_id=n,
        title=f"제목 {n}",
        author="김하늘",
        description=f"소개 {n} 바다" if n % 5 else None,  # every fifth has none
    )
    for n in range(1, 251)
}
WITH_TEXT = 200


class Grown:
    """A shop built again and again: what it is, what the last build said and embedded.

    Every test changes books of its own, so the tests may run in any order.
    """

    def __init__(self, shop: SearchShop, encoder: WordEncoder) -> None:
        self.shop = shop
        self.encoder = encoder
        self.books = dict(BOOKS)
        self.tags: tuple[str, ...] = ("위로",)
        self.last = self.build()
        self.embedded_first = (sorted(encoder.documents), sorted(encoder.queries))
        self.facts_first = texts_embedded(self.last)

    def build(self) -> WholeBuild:
        """Build the shop as it is; `encoder` holds what this build embedded."""
        self.encoder.documents.clear()
        self.encoder.queries.clear()
        self.last = self.shop.write(list(self.books.values()), tags=self.tags).build()
        return self.last

    def change(self, book_id: int, **values: object) -> None:
        """Change a book; takes effect with the next build."""
        self.books[book_id] = replace(self.books[book_id], **values)  # type: ignore[arg-type]  # names of fields

    def content(self, artifact: str) -> int:
        """Rows of an artifact of the last build."""
        return self.last.release.release.content.artifacts[artifact].rows


@pytest.fixture(scope="module")
def encoder() -> Iterator[WordEncoder]:
    made = WordEncoder()
    with encoding_with(made):
        yield made


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory, encoder: WordEncoder) -> Grown:
    return Grown(SearchShop(tmp_path_factory.mktemp("grown")), encoder)


def texts_embedded(built: WholeBuild) -> dict[str, int]:
    facts = report_of(built, "embeddings").record.facts
    return dict(facts["texts_embedded"])  # type: ignore[call-overload, no-any-return]  # JSON


def differing(first: WholeBuild, second: WholeBuild) -> set[str]:
    """Names of the tables and artifacts whose identities differ."""
    before = identities(first) | artifact_identities(first)
    after = identities(second) | artifact_identities(second)
    return {name for name in before if before[name] != after[name]}


def test_the_first_build_embeds_each_text_once(grown: Grown) -> None:
    # without `if description is not None`: TypeError
    wanted = [book_text(b.title, b.description) for b in BOOKS.values() if b.description]
    assert len(wanted) == WITH_TEXT
    assert grown.embedded_first == (sorted(wanted), ["소설", "위로"])
    assert grown.facts_first == {"books_vectors": WITH_TEXT, "habits_vectors": 0}


def test_nothing_changed_loads_no_model_and_publishes_nothing(grown: Grown) -> None:
    # without `reusable_record` in any of the four builders
    first = grown.last
    folders = [grown.shop.workspace / name for name in ("vectors", "keyword", "parts")]
    before = [files_below(folder) for folder in folders]
    numbers = store(grown.shop.workspace).numbers()
    with nothing_loaded():
        second = grown.build()
    assert all(report.reused for report in second.assets)
    assert not second.release.published
    assert store(grown.shop.workspace).numbers() == numbers
    assert [files_below(folder) for folder in folders] == before
    assert differing(first, second) == set()


def test_one_percent_of_changed_descriptions_is_all_that_is_embedded(grown: Grown) -> None:
    # without the digest in `sync_plan`'s join, or with `to_embed` = all that is wanted
    first = grown.last
    grown.change(11, description="등대 이야기")
    grown.change(12, description="고래 노래")
    second = grown.build()
    changed = [book_text("제목 11", "등대 이야기"), book_text("제목 12", "고래 노래")]
    assert sorted(grown.encoder.documents) == sorted(changed)
    assert grown.encoder.queries == []
    assert texts_embedded(second) == {"books_vectors": 2, "habits_vectors": 0}
    assert differing(first, second) == {
        "books", "books_vectors", "books_keyword", "catalog_texts", "similarity_calibration",
    }  # fmt: skip
    with grown.shop.open() as opened:
        vectors = opened.search_engine().open_vectors()
        assert vectors is not None
        expected = grown.encoder.encode_documents(changed)
        for book, row in zip((11, 12), expected, strict=True):
            assert vectors.vector(book).tolist() == row.tolist()


def test_a_changed_title_is_embedded_where_there_is_a_description(grown: Grown) -> None:
    grown.change(21, title="새 제목")
    grown.build()
    assert grown.encoder.documents == [book_text("새 제목", "소개 21 바다")]


def test_a_changed_title_without_description_loads_no_encoder(
    grown: Grown, monkeypatch: pytest.MonkeyPatch
) -> None:  # with an encoder loaded before the plan is made
    first = grown.last
    monkeypatch.setattr(LOAD_BATCH_ENCODER, loaded_for_nothing)
    grown.change(10, title="등불 제목")
    second = grown.build()
    assert second.release.published
    assert differing(first, second) == {"books", "books_keyword", "search_titles"}
    with grown.shop.open() as opened:
        assert found_ids(opened, "등불 제목")[0] == 10


def test_a_price_stock_or_year_change_touches_no_vector_and_no_posting(
    grown: Grown, monkeypatch: pytest.MonkeyPatch
) -> None:  # with the price in `_BOOK_COLUMNS` or in the text
    first = grown.last
    folders = [grown.shop.workspace / name for name in ("vectors", "keyword")]
    before = [sizes(folder) for folder in folders]
    monkeypatch.setattr(LOAD_BATCH_ENCODER, loaded_for_nothing)
    grown.change(31, price=1)
    grown.change(32, price=None)
    grown.change(33, in_stock=False, pub_year=1999)
    second = grown.build()
    assert second.release.published
    assert differing(first, second) == {"books"}
    assert texts_embedded(second) == {"books_vectors": 0, "habits_vectors": 0}
    assert report_of(second, "keyword_index").record.facts["texts_analysed"] == 0
    assert report_of(second, "similarity_calibration").reused
    assert [sizes(folder) for folder in folders] == before


def test_a_deleted_book_leaves_vectors_and_postings(grown: Grown) -> None:
    # without `table.delete(plan.to_delete)`
    rows = {name: grown.content(name) for name in ("books_vectors", "books_keyword")}
    del grown.books[41], grown.books[45]
    grown.build()
    assert grown.encoder.documents == []
    assert grown.content("books_vectors") == rows["books_vectors"] - 1  # 45 had none
    assert grown.content("books_keyword") == rows["books_keyword"] - 2
    with grown.shop.open() as opened:
        engine = opened.search_engine()
        vectors = engine.open_vectors()
        assert vectors is not None
        assert not {41, 45} & set(vectors.item_ids.tolist())
        assert not {41, 45} & set(engine.open_keyword().book_ids.tolist())
        for query in ("제목 41", "소개 41 바다", "제목 45"):
            assert not {41, 45} & set(found_ids(opened, query, size=50))


def test_a_removed_description_removes_the_vector_and_the_same_one_brings_it_back(
    grown: Grown,
) -> None:
    first = grown.last
    rows = grown.content("books_vectors")
    grown.change(51, description=None)
    grown.build()
    assert grown.encoder.documents == []
    assert grown.content("books_vectors") == rows - 1
    grown.change(51, description="소개 51 바다")
    back = grown.build()
    assert grown.encoder.documents == [book_text("제목 51", "소개 51 바다")]
    assert artifact_identities(back) == artifact_identities(first)


def test_a_new_tag_is_the_only_word_embedded(grown: Grown) -> None:  # without `_known`
    first = grown.last
    grown.tags = ("위로", "성장", "소설")  # the last is a category too: it has its vector
    second = grown.build()
    assert (grown.encoder.documents, grown.encoder.queries) == ([], ["성장"])
    assert differing(first, second) == {"onboarding", "preset_vectors"}
    assert report_of(second, "embeddings").reused
    with grown.shop.open() as opened:
        words = {(k, n): v for k, n, _, v in opened.table("preset_vectors").iter_rows()}
    assert sorted(words) == [
        ("category", "소설"), ("tag", "성장"), ("tag", "소설"), ("tag", "위로"),
    ]  # fmt: skip
    assert words["tag", "소설"] == words["category", "소설"]
    assert words["tag", "성장"] == WordEncoder().encode_queries(["성장"])[0].tolist()


def test_a_fresh_workspace_and_a_grown_one_have_equal_identities(
    tmp_path: Path, grown: Grown
) -> None:  # with insertion order or Lance's version in the identity
    grown.change(61, description="바뀐 소개")
    grown.books[999] = Book(book_id=999, title="새 책", description="새 소개")
    last = grown.build()
    assert len(grown.encoder.documents) == 2
    shop = SearchShop(tmp_path).write(list(grown.books.values())[::-1], tags=grown.tags)
    fresh = shop.build(run__encoder_batch=1, run__threads=1)
    assert differing(last, fresh) == set()
    assert fresh.release.release.identity == last.release.release.identity


def test_lost_vectors_beside_lance_are_mended_without_embedding(grown: Grown) -> None:
    # without `vectors_problem` in build_embeddings
    first = grown.last
    snapshots = grown.shop.workspace / "vectors"
    for path in snapshots.glob("*.snapshots/*"):
        path.unlink()
    again = grown.build()
    assert grown.encoder.documents == []
    assert differing(first, again) == set()
    assert list(snapshots.glob("books-*.snapshots/*.json"))


def test_one_vector_has_no_scale(tmp_path: Path, encoder: WordEncoder) -> None:
    built = SearchShop(tmp_path).write([BOOKS[1]]).build()
    assert built.release.release.content.tables["similarity_calibration"].rows == 0
    assert built.release.in_service


def loaded_for_nothing(*_: object) -> None:
    raise AssertionError("the encoder was loaded although no text changed")


def sizes(folder: Path) -> dict[str, int]:
    """Sizes of all files; what was published before may be touched, not changed."""
    return {name: size for name, (size, _) in files_below(folder).items()}
