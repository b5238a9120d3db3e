"""Whether every stored file of a release still holds the bytes it was published with."""

from collections.abc import Iterator
from dataclasses import dataclass

from lifehelper_data.domain.errors import Unavailable
from lifehelper_data.domain.ports import NoProgress, Progress
from lifehelper_data.domain.release import Release
from lifehelper_data.stores.current import equals_current, read_sidecar, sidecar_file
from lifehelper_data.stores.part_check import (
    REBUILD,
    Problem,
    all_parts,
    file_sha256,
    size_problem,
)
from lifehelper_data.stores.pins import pin_release
from lifehelper_data.stores.release_read import read_release_and_root
from lifehelper_data.stores.releases import ReleaseStore


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """What verification found.

    Attributes:
        number: the release.
        checked_parts: parts looked at; 0 if the release file itself is not to be trusted.
        checked_bytes: bytes read and hashed.
        problems: what is wrong, release file first, then parts by table and bucket.
    """

    number: int
    checked_parts: int
    checked_bytes: int
    problems: tuple[Problem, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify(store: ReleaseStore, number: int, progress: Progress | None = None) -> VerifyReport:
    """Read every byte of a release and compare hashes.

    The release file is compared with the checksum beside it. If they differ its list of parts is
    not to be trusted, and no part is checked.

    Args:
        store: the releases.
        number: the release.
        progress: shown bytes done of bytes in all.

    Raises:
        NotFound: there is no such release.
    """
    shown = progress or NoProgress()
    with pin_release(store.layout, number, store.clock):
        path = store.layout.release_file(number)
        problems = list(_file_problems(store, number))
        size_bytes = path.stat().st_size
        if problems:
            return VerifyReport(
                number=number, checked_parts=0, checked_bytes=size_bytes, problems=tuple(problems)
            )
        try:
            release, root = read_release_and_root(path)
        except Unavailable as error:
            broken = Problem(path=_relative(store, number), what=str(error), remedy=REBUILD)
            return VerifyReport(
                number=number, checked_parts=0, checked_bytes=size_bytes, problems=(broken,)
            )
        if root.resolve() != store.layout.root.resolve():
            problems.append(
                Problem(
                    path=_relative(store, number),
                    what=f"its views point into {str(root)!r}",
                    remedy="run `lifehelper release relocate`",
                )
            )
        if store.current_number() == number and not equals_current(store.layout, number):
            problems.append(
                Problem(
                    path=store.layout.current_database.name,
                    what=f"is not a copy of release {number}, which is in service",
                    remedy=f"run `lifehelper release promote {number}`",
                )
            )
        checked_bytes = size_bytes + _check_parts(store, release, problems, shown)
        problems += _vector_problems(store, release)
        return VerifyReport(
            number=number,
            checked_parts=len(all_parts(release.content)),
            checked_bytes=checked_bytes,
            problems=tuple(problems),
        )


def _file_problems(store: ReleaseStore, number: int) -> Iterator[Problem]:
    """Yield what is wrong with the release file or its checksum."""
    listed = read_sidecar(store.layout, number)
    if not listed:
        yield Problem(
            path=sidecar_file(store.layout, number).relative_to(store.layout.root).as_posix(),
            what="the checksum of the release file is missing",
            remedy="restore it from a copy, or make a new release with `lifehelper build`",
        )
    elif file_sha256(store.layout.release_file(number)) not in listed:
        in_service = store.current_number() == number
        current = store.layout.current_database
        copy_is_good = in_service and current.exists() and file_sha256(current) in listed
        name = store.layout.release_file(number).name
        yield Problem(
            path=_relative(store, number),
            what="its bytes or its checksum changed since it was published",
            remedy=f"copy current.duckdb to releases/{name}" if copy_is_good else REBUILD,
        )


def _check_parts(
    store: ReleaseStore, release: Release, problems: list[Problem], progress: Progress
) -> int:
    """Append what is wrong with the parts; returns the bytes read."""
    parts = all_parts(release.content)
    total = sum(part.size_bytes for part in parts)
    label = f"verify release {release.number}"
    done = 0
    progress.step(label, 0, total)
    for part in parts:
        problem = size_problem(store.layout.root, part)
        if problem is None:
            done += part.size_bytes
            if file_sha256(store.layout.root / part.path) != part.bytes_sha256:
                problem = Problem(
                    path=part.path, what="its bytes changed since it was built", remedy=REBUILD
                )
        if problem is not None:
            problems.append(problem)
        progress.step(label, done, total)
    return done


def _vector_problems(store: ReleaseStore, release: Release) -> Iterator[Problem]:
    """Yield what is wrong with the vectors of a release; every row is read."""
    from lifehelper_data.stores.vector_artifact import vectors_of, vectors_tag
    from lifehelper_data.stores.vector_verify import verify_version

    for artifact in vectors_of(release.content.artifacts):
        name, space, tag = vectors_tag(artifact)
        yield from verify_version(
            store.layout, name, space, tag, rows=artifact.rows, digest=artifact.identity
        )


def _relative(store: ReleaseStore, number: int) -> str:
    return store.layout.release_file(number).relative_to(store.layout.root).as_posix()
