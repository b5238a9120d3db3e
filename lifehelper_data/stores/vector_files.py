"""Where a vector table lies, who writes it, and how Lance is opened."""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from lifehelper_data.domain.errors import InvalidRequest, NotFound, Unavailable, WorkspaceLocked
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.locks import flocked

KEEP_EVERY_VERSION: Final = timedelta(days=36_500)
"""Lance's `optimize` also deletes versions older than 7 days, and fails if one of them has a tag;
this age turns that off."""
HEAD_TAG: Final = "gc-head"
"""Names the newest version while gc rearranges versions; there after a crash only."""
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,31}")
_SPACE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._]{0,63}")
_TAG: Final = re.compile(r"c-[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class VectorFiles:
    """Paths of one vector table.

    Attributes:
        layout: the workspace.
        name: what the vectors are of, such as "books".
        vector_space_id: the space they lie in.
    """

    layout: Layout
    name: str
    vector_space_id: str

    @classmethod
    def of(cls, layout: Layout, name: str, vector_space_id: str) -> "VectorFiles":
        """Return the paths of a table.

        Raises:
            InvalidRequest: the name or the space cannot be part of a file name.
        """
        if not _NAME.fullmatch(name):
            raise InvalidRequest(
                f"vector table {name!r}: use 1-32 of a-z 0-9 _ beginning with a letter",
                field="name",
            )
        if not _SPACE.fullmatch(vector_space_id):
            raise InvalidRequest(
                f"vector space {vector_space_id!r}: use 1-64 letters, digits, dots and _",
                field="vector_space_id",
            )
        return cls(layout, name, vector_space_id)

    @classmethod
    def found(cls, layout: Layout) -> list["VectorFiles"]:
        """Return the tables of a workspace, sorted; a workspace without vectors: none."""
        names = {
            path.name.removesuffix(suffix)
            for suffix in (".lance", ".snapshots")
            for path in layout.vectors.glob(f"*{suffix}")
        }
        pairs = (name.partition("-") for name in sorted(names))
        return [
            cls(layout, name, space)
            for name, _, space in pairs
            if _NAME.fullmatch(name) and _SPACE.fullmatch(space)
        ]

    @property
    def table_name(self) -> str:
        """The table's name in Lance."""
        return f"{self.name}-{self.vector_space_id}"

    @property
    def table(self) -> Path:
        """Lance's folder."""
        return self.layout.vectors / f"{self.table_name}.lance"

    @property
    def snapshots(self) -> Path:
        """Facts about tags (JSON) and their vectors and codes as memory-mapped arrays."""
        return self.layout.vectors / f"{self.table_name}.snapshots"

    @property
    def lock(self) -> Path:
        """Held with `flock` by whoever writes the table."""
        return self.layout.vectors / f"{self.table_name}.lock"

    @property
    def shown(self) -> str:
        """The table's folder relative to the workspace, for messages."""
        return self.table.relative_to(self.layout.root).as_posix()

    def version_facts(self, tag: str) -> Path:
        """What is known about a tag."""
        return self.snapshots / f"{tag}.json"

    def cached_ids(self, tag: str) -> Path:
        """The item ids of a tag."""
        return self.snapshots / f"{tag}.ids.npy"

    def cached_vectors(self, tag: str) -> Path:
        """The vectors of a tag."""
        return self.snapshots / f"{tag}.vectors.npy"

    def cached_codes(self, tag: str) -> Path:
        """The quantised copy of a tag's vectors, derived from them."""
        return self.snapshots / f"{tag}.codes"

    def exists(self) -> bool:
        """Whether the table was ever committed."""
        return any((self.table / "_versions").glob("*.manifest"))

    @contextmanager
    def locked(self, *, wait: bool = True) -> Iterator[None]:
        """Be the only writer of the table for the length of a `with` block.

        Raises:
            WorkspaceLocked: another process writes it and `wait` is false.
        """
        self.layout.vectors.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            try:
                stack.enter_context(flocked(self.lock, wait=wait))
            except BlockingIOError as error:
                raise WorkspaceLocked(
                    f"vector table {self.shown!r} is being written by another process; wait for it"
                ) from error
            yield

    def open_table(self) -> Any:
        """Return Lance's table at its newest version.

        Raises:
            NotFound: it was never made.
            Unavailable: it is damaged.
        """
        import lancedb

        if not self.exists():
            raise NotFound(f"vector table {self.shown!r} does not exist; run `lifehelper build`")
        with self.readable():
            return lancedb.connect(self.layout.vectors).open_table(self.table_name)

    @contextmanager
    def readable(self) -> Iterator[None]:
        """Turn what Lance raises into an Unavailable that names the table and the remedy."""
        try:
            yield
        except (RuntimeError, ValueError, OSError) as error:  # all that Lance raises on bad files
            raise self.unusable(error) from error

    def unusable(self, error: Exception) -> Unavailable:
        """Return what to raise when Lance refuses."""
        return Unavailable(
            f"vector table {self.shown!r} cannot be used: {_first_line(error)}; restore its folder "
            "from a copy, or remove it and run `lifehelper build`, which makes it again",
            field=self.table_name,
        )


def is_tag(text: str) -> bool:
    """Whether a text is the tag of a published version.

    >>> [is_tag(text) for text in ("c-0123456789abcdef", HEAD_TAG, "../c-0123456789abcdef")]
    [True, False, False]
    """
    return bool(_TAG.fullmatch(text))


def _first_line(error: BaseException) -> str:
    """Return what Lance says, without the place in its sources."""
    text = (str(error).splitlines() or [type(error).__name__])[0]
    return re.sub(r",? \S*/\.cargo/\S+", "", text)[:300]
