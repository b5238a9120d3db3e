"""Entry point: the command tree and the one place where errors become exit codes."""

import sys
from collections.abc import Sequence
from typing import Any

import typer

from lifehelper_data.cli import bench, build, dagster, doctor, release, report, schema, search, sql
from lifehelper_data.cli import eval as evaluation
from lifehelper_data.cli.output import print_error
from lifehelper_data.domain.errors import EXIT_BAD_INPUT, LifehelperError, Unavailable

EXIT_INTERRUPTED = 130
_ClickException: Any = typer.BadParameter.__mro__[2]  # Typer exports no name for it

app = typer.Typer(
    name="lifehelper",
    help="Data and evaluation platform behind a Korean book shop assistant and a habit coach.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
build.register(app)
search.register(app)
sql.register(app)
report.register(app)
schema.register(app)
doctor.register(app)
bench.register(app)
dagster.register(app)
app.add_typer(release.app, name="release")
app.add_typer(evaluation.app, name="eval")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 good, 1 refused, 2 bad input, 3 unavailable."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in given
    try:
        code = app(args=given, standalone_mode=False)
    except LifehelperError as error:
        print_error(error, as_json=as_json)
        sys.exit(error.exit_code)
    except typer.Abort:
        sys.exit(EXIT_INTERRUPTED)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except _ClickException as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
        else:
            print_error(InvalidUsage(error.format_message()), as_json=as_json)
        sys.exit(EXIT_BAD_INPUT)
    except OSError as error:
        print_error(_no_storage(error), as_json=as_json)
        sys.exit(Unavailable.exit_code)
    sys.exit(code if isinstance(code, int) else 0)


class InvalidUsage(LifehelperError):
    """The command line itself is wrong."""

    status = 400


def _no_storage(error: OSError) -> Unavailable:
    where = f" {str(error.filename)!r}" if error.filename else ""
    return Unavailable(
        f"{error.strerror or error}{where}: free space or mend the permissions, then run again; "
        "what was in service still is"
    )
