"""Continuous integration: ``nox`` runs all of it, here and in ``.github/workflows/ci.yml``; ``nox -l`` lists it."""

from __future__ import annotations

import nox

nox.options.sessions = ["lint", "types", "tests", "conformance"]
nox.options.reuse_existing_virtualenvs = True

#: where kernels run
TARGET = "loops:l1"
#: a plugin that tri cannot load is an error here, elsewhere a warning
STRICT = {"TRI_PLUGINS_STRICT": "1"}


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff: rules and format."""
    session.install("ruff>=0.9")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Strict type checking."""
    session.install("mypy>=1.13", "nox", ".[test]")
    session.run("mypy", "src", "tests", "noxfile.py")


@nox.session
def tests(session: nox.Session) -> None:
    """Unit tests, and the first levels of the conformance kit; arguments go to pytest."""
    session.install(".[test]")
    session.run("pytest", *session.posargs, env=STRICT)


@nox.session
def conformance(session: nox.Session) -> None:
    """Run the conformance kit on what has rules so far: ``nox -s conformance -- --level language`` tries all."""
    session.install(".[test]")
    asked = session.posargs or ["--sample=20"]
    levels = "--level=language,programs,runtime"
    session.run("tri-conformance", f"--target={TARGET}", levels, *asked, env=STRICT)
