"""The one exception tree: operator faults and bugs, each with a status and a remedy.

A foreseeable refusal inside the product is a value, never one of these.
"""

from typing import Final

EXIT_OK: Final = 0
EXIT_REFUSED: Final = 1  # a check, gate or rule said no
EXIT_BAD_INPUT: Final = 2  # the request, mapping or argument is wrong
EXIT_UNAVAILABLE: Final = 3  # a component cannot be reached


class LifehelperError(Exception):
    """Base of every error this package raises on purpose.

    Attributes:
        status: HTTP-like status of the error.
        exit_code: what the command line exits with.
        field: the request field, table, column or file the message is about, if one is.
    """

    status: int = 500
    exit_code: int = EXIT_BAD_INPUT

    def __init__(self, message: str, *, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field

    def to_dict(self) -> dict[str, object]:
        """Return the error in the shape every JSON surface uses."""
        return {
            "error": {
                "type": type(self).__name__,
                "status": self.status,
                "message": str(self),
                "field": self.field,
            }
        }


class InvalidRequest(LifehelperError):
    """A request, flag or configuration value is wrong."""

    status = 400


class NotFound(LifehelperError):
    """Something named in a request does not exist (release, table, workspace)."""

    status = 404


class CursorExpired(LifehelperError):
    """A cursor is too old, was not issued here, or belongs to another request or release."""

    status = 410


class MappingError(InvalidRequest):
    """The mapping file or one of its SELECTs is wrong."""


class UnsafeSql(MappingError):
    """A statement does more than read declared tables once."""


class SourceError(LifehelperError):
    """A declared source file cannot be read as what it is declared to be."""

    status = 422


class ContractViolation(LifehelperError):
    """The source renamed, removed or retyped something the contract needs."""

    status = 422


class LoadRefused(LifehelperError):
    """Too much of a table or file is bad; the last release stays in service."""

    status = 422
    exit_code = EXIT_REFUSED


class IdCollision(LifehelperError):
    """Two text ids share their 53-bit number."""

    status = 422
    exit_code = EXIT_REFUSED


class CheckFailed(LifehelperError):
    """A blocking check said no; nothing was promoted."""

    status = 409
    exit_code = EXIT_REFUSED


class VerifyFailed(LifehelperError):
    """A stored file no longer holds the bytes it was published with."""

    status = 409
    exit_code = EXIT_REFUSED


class FormatVersionError(LifehelperError):
    """A release was written by another format version of this package."""

    status = 409


class WorkspaceLocked(LifehelperError):
    """Another process is publishing and the caller chose not to wait."""

    status = 423
    exit_code = EXIT_UNAVAILABLE


class LockLost(LifehelperError):
    """The writer lock was taken over while its owner was not responding."""

    status = 409
    exit_code = EXIT_UNAVAILABLE


class Unavailable(LifehelperError):
    """A store or component cannot be reached."""

    status = 503
    exit_code = EXIT_UNAVAILABLE
