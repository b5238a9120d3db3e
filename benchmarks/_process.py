"""Starting workers and commands in processes of their own."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from types import TracebackType
from typing import IO, Any, Self

from benchmarks.kit import ROOT
from lifehelper_data.domain.errors import Unavailable

TAIL = 2000  # characters of a failed process's messages that are shown


class Worker:
    """A job of `benchmarks._worker` that answers questions; close it, or use it with `with`."""

    def __init__(self, *arguments: object) -> None:
        self._messages: IO[str] = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  # lives as long as the process
        self._process = subprocess.Popen(  # noqa: S603  # our own module, no shell
            [sys.executable, "-m", "benchmarks._worker", *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            text=True,
            encoding="utf-8",
            env=_environment(),
            cwd=ROOT,
        )
        self.ready = self._answer()

    def ask(self, question: object) -> Any:
        """Return the answer to one question.

        Raises:
            Unavailable: the process ended; shows its last messages.
        """
        assert self._process.stdin is not None  # noqa: S101  # a pipe was asked for
        try:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it ended: reading says why
        return self._answer()

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._messages.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _answer(self) -> Any:
        assert self._process.stdout is not None  # noqa: S101  # a pipe was asked for
        line = self._process.stdout.readline()
        if line:
            return json.loads(line)
        self._process.wait()
        self._messages.seek(0)
        said = self._messages.read()[-TAIL:]
        self.close()
        raise Unavailable(f"a worker ended with code {self._process.returncode}: {said}")


def run_worker(*arguments: object) -> Any:
    """Run a job that needs no questions and return its document."""
    return json.loads(_output(["-m", "benchmarks._worker", *map(str, arguments)]))


def run_command(*arguments: object) -> str:
    """Run `lifehelper` with arguments and return what it prints.

    Raises:
        Unavailable: it ended with another code than 0; shows its last messages.
    """
    code = "from lifehelper_data.cli.main import main; main()"
    return _output(["-c", code, *map(str, arguments)])


def run_nothing() -> None:
    """Start and end an interpreter."""
    _output(["-c", ""])


def _output(arguments: Sequence[str]) -> str:
    done = subprocess.run(  # noqa: S603  # our own modules, no shell
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env=_environment(),
        cwd=ROOT,
    )
    if done.returncode:
        raise Unavailable(
            f"a process ended with code {done.returncode}: {(done.stdout + done.stderr)[-TAIL:]}"
        )
    return done.stdout


def _environment() -> dict[str, str]:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"}
