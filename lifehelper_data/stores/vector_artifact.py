"""Vectors as an artifact of a release."""

from collections.abc import Mapping

from lifehelper_data.domain.release import Artifact, ArtifactKind
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.part_check import Problem
from lifehelper_data.stores.vector_files import VectorFiles
from lifehelper_data.stores.vector_snapshot import VectorSnapshot
from lifehelper_data.stores.vector_version import VectorVersion


def vectors_artifact(layout: Layout, artifact_name: str, version: VectorVersion) -> Artifact:
    """Return a published version of a Lance table as an artifact."""
    files = VectorFiles.of(layout, version.name, version.vector_space_id)
    return Artifact(
        name=artifact_name,
        kind=ArtifactKind.VECTORS,
        path=files.shown,
        identity=version.content_digest,
        rows=version.rows,
        facts={
            "lance_name": version.name,
            "vector_space_id": version.vector_space_id,
            "dim": version.dim,
            "version": version.version,
            "tag": version.tag,
            "indexed": version.indexed,
            "index_recall": version.recall,
        },
    )


def vectors_tag(artifact: Artifact) -> tuple[str, str, str]:
    """Return (Lance name, vector space, tag) of an artifact."""
    facts = artifact.facts
    return str(facts["lance_name"]), str(facts["vector_space_id"]), str(facts["tag"])


def open_vectors(layout: Layout, artifact: Artifact) -> VectorSnapshot:
    """Open the version of a Lance table that an artifact names.

    Raises:
        NotFound: the version is gone.
        Unavailable: it cannot be read.
    """
    return VectorSnapshot.open(layout, *vectors_tag(artifact))


def vectors_problem(layout: Layout, artifact: Artifact) -> Problem | None:
    """Return what a look at the folder says is wrong with vectors; opens nothing."""
    name, space, tag = vectors_tag(artifact)
    files = VectorFiles.of(layout, name, space)
    if files.exists() and files.version_facts(tag).exists():
        return None
    return Problem(
        path=files.shown, what=f"version {tag!r} is missing", remedy="run `lifehelper build`"
    )


def vectors_of(artifacts: Mapping[str, Artifact]) -> list[Artifact]:
    """Return the artifacts that are vectors, by name."""
    return [a for _, a in sorted(artifacts.items()) if a.kind is ArtifactKind.VECTORS]
