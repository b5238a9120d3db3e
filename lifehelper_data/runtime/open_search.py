"""Wires search engines to one pinned release."""

from collections.abc import Callable

from lifehelper_data.domain.errors import InvalidRequest, Unavailable
from lifehelper_data.domain.release import Artifact
from lifehelper_data.models.encoder import Encoder
from lifehelper_data.models.from_settings import encoder_settings
from lifehelper_data.models.load import load_query_encoder
from lifehelper_data.runtime.habit_search import HabitSearch
from lifehelper_data.runtime.legs import Language, Legs
from lifehelper_data.runtime.search import SearchEngine
from lifehelper_data.settings import Settings
from lifehelper_data.stores.habit_catalog import HabitCatalog
from lifehelper_data.stores.keyword_index import KeywordIndex
from lifehelper_data.stores.keyword_reference import RankBm25Fields
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.releases import ReleaseReader
from lifehelper_data.stores.search_catalog import SearchCatalog
from lifehelper_data.stores.vector_artifact import open_vectors
from lifehelper_data.stores.vector_snapshot import VectorSnapshot


def open_search(layout: Layout, reader: ReleaseReader, settings: Settings) -> SearchEngine:
    """Return a search engine over the books of a release; legs load at the first search."""
    return SearchEngine(
        release_id=reader.number,
        catalog=SearchCatalog.open(reader),
        open_keyword=_keyword(layout, reader, settings, "books_keyword"),
        open_vectors=_vectors(layout, reader, "books_vectors"),
        load_encoder=_encoder(reader, settings, "books_vectors"),
        tunables=settings.search,
    )


def open_habit_search(
    layout: Layout, reader: ReleaseReader, settings: Settings, language: Language | None = None
) -> HabitSearch:
    """Return a search engine over the habit catalog of a release.

    Args:
        layout: the workspace.
        reader: the pinned release.
        settings: pools and weights.
        language: analyser and encoder of an engine on the same release, to share; None loads own.
    """
    own = Language(load_encoder=_encoder(reader, settings, "habits_vectors"))
    return HabitSearch(
        release_id=reader.number,
        catalog=HabitCatalog.open(reader),
        legs=Legs(
            language=language or own,
            open_keyword=_keyword(layout, reader, settings, "habits_keyword"),
            open_vectors=_vectors(layout, reader, "habits_vectors"),
            tunables=settings.search,
        ),
    )


def _keyword(
    layout: Layout, reader: ReleaseReader, settings: Settings, name: str
) -> Callable[[], KeywordIndex | RankBm25Fields]:
    def opened() -> KeywordIndex | RankBm25Fields:
        artifact = reader.release.content.artifacts.get(name)
        if artifact is None:
            raise Unavailable(
                f"release {reader.number} has no keyword index: it holds tables only; set "
                "run.search_assets = true and run `lifehelper build`"
            )
        index = KeywordIndex.open(layout.root / artifact.path)
        return RankBm25Fields(index) if settings.search.keyword_engine == "rank_bm25" else index

    return opened


def _vectors(
    layout: Layout, reader: ReleaseReader, name: str
) -> Callable[[], VectorSnapshot | None]:
    def opened() -> VectorSnapshot | None:
        artifact = reader.release.content.artifacts.get(name)
        return None if artifact is None else open_vectors(layout, artifact)

    return opened


def _encoder(reader: ReleaseReader, settings: Settings, name: str) -> Callable[[], Encoder]:
    def loaded() -> Encoder:
        encoder = load_query_encoder(encoder_settings(settings))
        artifact = reader.release.content.artifacts.get(name)
        if artifact is not None:
            _require_space(encoder, artifact)
        return encoder

    return loaded


def _require_space(encoder: Encoder, artifact: Artifact) -> None:
    """Refuse a model whose vectors cannot be compared with the release's."""
    here, there = encoder.space.vector_space_id, str(artifact.facts["vector_space_id"])
    if here != there:
        raise InvalidRequest(
            f"encoder.model gives vectors of space {here} (dim {encoder.space.dim}), the release "
            f"holds space {there} (dim {artifact.facts['dim']}); use the model it was built with, "
            "or run `lifehelper build` with this one",
            field="encoder.model",
        )
