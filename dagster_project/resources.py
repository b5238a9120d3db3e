"""What assets are given."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from lifehelper_data.domain.errors import InvalidRequest
from lifehelper_data.pipelines.context import BuildContext
from lifehelper_data.runtime.workspace import utc_now
from lifehelper_data.settings import load_settings
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

    @property
    def layout(self) -> Layout:
        """The workspace's paths; missing folders are created."""
        layout = Layout(Path(self.path).expanduser().resolve())
        layout.create()
        return layout

    def context(self) -> BuildContext:
        """The surroundings of a build."""
        layout = self.layout
        settings = load_settings(layout.config_file, os.environ)
        return BuildContext(layout=layout, settings=settings, clock=utc_now)

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
        source = self.source or self.context().settings.source
        if not source:
            raise InvalidRequest("no source: set `source` in lifehelper.toml", field="source")
        return self.layout.root / source
