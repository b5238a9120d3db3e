"""What assets are given."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
from pydantic import PrivateAttr

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.runtime.workspace import utc_now
from lifehelper_data.settings import Settings, load_settings
from lifehelper_data.stores.build_records import load_record
from lifehelper_data.stores.layout import Layout
from lifehelper_data.stores.releases import ReleaseStore
from lifehelper_data.stores.sessions import build_session


class WorkspaceResource(dg.ConfigurableResource[object]):
    """The workspace that assets read and write.

    Attributes:
        path: its folder.
        source: mapping file; empty uses the one in the workspace's configuration.
    """

    path: str
    source: str = ""
    _run: str | None = PrivateAttr(default=None)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Remember the run: its steps read each other's outputs, and so do those of a retry."""
        run = context.run
        self._run = None if run is None else run.root_run_id or run.run_id

    @property
    def layout(self) -> Layout:
        """The workspace's paths; missing folders are created."""
        layout = Layout(Path(self.path).expanduser().resolve(), run=self._run)
        layout.create()
        return layout

    @property
    def settings(self) -> Settings:
        """The workspace's configuration."""
        return load_settings(self.layout.config_file, os.environ)

    def context(self) -> BuildContext:
        """The surroundings of a build."""
        return BuildContext(layout=self.layout, settings=self.settings, clock=utc_now)

    @contextmanager
    def building(self) -> Iterator[BuildContext]:
        """Announce a running build, so that nothing it makes is collected meanwhile."""
        context = self.context()
        with build_session(context.layout, context.clock):
            yield context

    def store(self) -> ReleaseStore:
        """The workspace's releases."""
        return ReleaseStore(self.layout, utc_now, time.sleep)

    def mapping_file(self) -> Path:
        """The mapping file of the source.

        Raises:
            InvalidRequest: none is configured.
        """
        source = self.source or self.settings.source
        if not source:
            raise InvalidRequest("no source: set `source` in lifehelper.toml", field="source")
        return self.layout.root / source

    def watermarks(self) -> Mapping[str, str | None]:
        """The newest time of every table, as of the last load; empty before the first."""
        record = load_record(self.layout, "tables")
        known = record.facts.get("source_watermarks") if record else None
        return known if isinstance(known, dict) else {}
