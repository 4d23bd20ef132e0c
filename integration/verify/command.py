"""``tri verify`` as its tests run it: in this process."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from tri.cli.app import app

__all__ = ["verified"]


def verified(file: Path, name: str, *arguments: str) -> tuple[int, str]:
    """The exit status and output of ``tri verify FILE:NAME ARGUMENT ...``; raises what the command does not report itself."""
    result = CliRunner().invoke(app, ["verify", f"{file}:{name}", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output
