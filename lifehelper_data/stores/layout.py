"""Where everything lies in a workspace."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths of a workspace.

    Attributes:
        root: absolute path of the workspace folder.
        run: the scheduled run that works here; its steps see each other's outputs first.
    """

    root: Path
    run: str | None = None

    @property
    def config_file(self) -> Path:
        """The workspace's configuration."""
        return self.root / "lifehelper.toml"

    @property
    def releases(self) -> Path:
        """Release files, `000042.duckdb`."""
        return self.root / "releases"

    @property
    def parts(self) -> Path:
        """Parquet parts, `<table>/<identity>.parquet`."""
        return self.root / "parts"

    @property
    def keyword(self) -> Path:
        """Keyword indexes, `<name>/<identity>/`."""
        return self.root / "keyword"

    @property
    def vectors(self) -> Path:
        """Vector tables, `<name>-<vector_space_id>.lance`, and what lies beside them."""
        return self.root / "vectors"

    @property
    def builds(self) -> Path:
        """What builders last made (JSON), and the sessions of running builds."""
        return self.root / "builds"

    @property
    def runs(self) -> Path:
        """What the steps of scheduled runs made, `<run>/<asset>.json`."""
        return self.builds / "runs"

    @property
    def pins(self) -> Path:
        """Pin files of open readers."""
        return self.root / "pins"

    @property
    def tmp(self) -> Path:
        """Scratch space; anything in it may be deleted when no build runs."""
        return self.root / "tmp"

    @property
    def cursor_key(self) -> Path:
        """The key that cursors are signed with."""
        return self.root / "cursor.key"

    @property
    def dagster_home(self) -> Path:
        """Runs, schedules and sensors of the web UI."""
        return self.root / "dagster"

    @property
    def replica(self) -> Path:
        """Rows as last read from a database, `<table>/rows.parquet`."""
        return self.root / "replica"

    @property
    def refused(self) -> Path:
        """Quarantine and rejects of the last load that was refused."""
        return self.root / "refused"

    @property
    def eval(self) -> Path:
        """Evaluation runs, `<run_id>/`."""
        return self.root / "eval"

    @property
    def current_pointer(self) -> Path:
        """Which release is in service, for our own code."""
        return self.releases / "current.json"

    @property
    def current_database(self) -> Path:
        """A copy of the release in service, for foreign DuckDB clients."""
        return self.root / "current.duckdb"

    @property
    def tags_file(self) -> Path:
        """Names given to releases."""
        return self.releases / "tags.json"

    @property
    def writer_lock(self) -> Path:
        """Who is publishing."""
        return self.root / "writer.lock"

    def release_file(self, number: int) -> Path:
        """The file of one release."""
        return self.releases / f"{number:06d}.duckdb"

    def create(self) -> None:
        """Create the folders that are missing."""
        for folder in (self.releases, self.parts, self.builds, self.pins, self.tmp):
            folder.mkdir(parents=True, exist_ok=True)
