"""Options that many commands share."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lifehelper_data.domain.errors import NotFound
from lifehelper_data.stores.layout import Layout

if TYPE_CHECKING:
    from lifehelper_data.settings import Settings

WorkspaceOption = Annotated[
    Path,
    typer.Option(
        "--workspace", "-w", envvar="LIFEHELPER_WORKSPACE", help="Folder of the workspace.",
        show_default=True,
    ),
]  # fmt: skip
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on stdout, nothing else.")
]
ReleaseOption = Annotated[
    str, typer.Option("--release", "-r", help="'current', a number, or a tag.")
]
ReleaseArgument = Annotated[str, typer.Argument(help="'current', a number, or a tag.")]
ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", help="Configuration file instead of the workspace's lifehelper.toml."),
]
WaitOption = Annotated[
    float | None,
    typer.Option(
        "--lock-wait", min=0, help="Seconds to wait for another writer; 0 gives up at once."
    ),
]

DEFAULT_WORKSPACE = Path("workspace")


def existing_layout(workspace: Path) -> Layout:
    """Return the layout of a workspace.

    Raises:
        NotFound: it was not initialised.
    """
    layout = Layout(workspace.expanduser().resolve())
    if not layout.releases.is_dir():
        raise NotFound(
            f"no workspace at {str(workspace)!r}; create one with `lifehelper init {workspace}`",
            field="workspace",
        )
    return layout


def workspace_settings(
    layout: Layout, config: Path | None = None, flags: Mapping[str, object] | None = None
) -> "Settings":
    """Read the configuration: file < environment < flag.

    Raises:
        NotFound: `config` was given and does not exist.
        InvalidRequest: a setting is wrong.
    """
    from lifehelper_data.settings import load_settings

    if config is not None and not config.is_file():
        raise NotFound(f"no configuration file {str(config)!r}", field="config")
    return load_settings(config or layout.config_file, os.environ, flags)
