"""Wires a search engine to one pinned release."""

from lifehelper_data.domain.errors import InvalidRequest, Unavailable
from lifehelper_data.domain.release import Artifact
from lifehelper_data.models.encoder import Encoder
from lifehelper_data.models.from_settings import encoder_settings
from lifehelper_data.models.load import load_query_encoder
from lifehelper_data.runtime.search import SearchEngine
from lifehelper_data.settings import Settings
from lifehelper_data.stores.keyword_index import KeywordIndex
from lifehelper_data.stores.keyword_reference import RankBm25Fields
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.releases import ReleaseReader
from lifehelper_data.stores.search_catalog import SearchCatalog
from lifehelper_data.stores.vector_artifact import open_vectors
from lifehelper_data.stores.vector_snapshot import VectorSnapshot


def open_search(layout: Layout, reader: ReleaseReader, settings: Settings) -> SearchEngine:
    """Return a search engine over the books of a release; legs load at the first search."""
    artifacts = reader.release.content.artifacts

    def keyword() -> KeywordIndex | RankBm25Fields:
        artifact = artifacts.get("books_keyword")
        if artifact is None:
            raise Unavailable(
                f"release {reader.number} has no keyword index: it holds tables only; set "
                "run.search_assets = true and run `lifehelper build`"
            )
        index = KeywordIndex.open(layout.root / artifact.path)
        return RankBm25Fields(index) if settings.search.keyword_engine == "rank_bm25" else index

    def vectors() -> VectorSnapshot | None:
        artifact = artifacts.get("books_vectors")
        return None if artifact is None else open_vectors(layout, artifact)

    def encoder() -> Encoder:
        loaded = load_query_encoder(encoder_settings(settings))
        artifact = artifacts.get("books_vectors")
        if artifact is not None:
            _require_space(loaded, artifact)
        return loaded

    return SearchEngine(
        release_id=reader.number,
        catalog=SearchCatalog.open(reader),
        open_keyword=keyword,
        open_vectors=vectors,
        load_encoder=encoder,
        tunables=settings.search,
    )


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
