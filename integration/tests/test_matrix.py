"""The matrix on a made-up repository, whose kit and backend are a few lines: what is chosen, installed, run and said."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest
from rich.console import Console

from integration.matrix.environments import Environment, Installer, InstallError, NotAlone
from integration.matrix.plan import Pairing, Plan, prepare
from integration.matrix.rows import KIT, ROWS, Row
from integration.matrix.runs import Job, Outcome
from integration.matrix.session import Session, Wanted
from integration.matrix.table import is_right, listings, problems, table, to_json, to_markdown
from integration.releases.history import HistoryError
from integration.releases.project import projects
from integration.tests.made_up import MadeUp, git

TOP = Path(__file__).resolve().parents[2]

#: a core that knows its plugins by name, and says which devices they find
CORE = """
    import importlib.metadata
    from types import SimpleNamespace

    class manager:
        def backends(self):
            return {e.name: e.load() for e in importlib.metadata.entry_points(group="tri")}

        def plugins(self):
            found = importlib.metadata.entry_points(group="tri")
            return [SimpleNamespace(name=e.name, dist=e.dist.name, state="active", backends=(e.name,)) for e in found]

        def probe(self, name):
            return [SimpleNamespace(arch=arch) for arch in self.backends()[name].DEVICES]
"""
#: a kit with one case per sample: the core has what the backend uses
JUDGE = """
    import argparse, json, sys
    import tri_core.plugins, tri_backend_mine.plugin

    parser = argparse.ArgumentParser()
    for name in ("target", "sample", "level", "json", "report"):
        parser.add_argument(f"--{name}")
    given = parser.parse_args()
    verdict = "passed" if hasattr(tri_core.plugins, tri_backend_mine.plugin.USES) else "failed"
    case = {"id": "static/uses/", "verdict": verdict, "detail": "core lacks it" if verdict == "failed" else ""}
    assert given.level in ("", "static,pipeline,runtime,programs")
    said = {"ok": verdict == "passed", "counts": {"static": {verdict: 1}}, "left_out": int(given.sample) - 1, "cases": [case]}
    open(given.json, "w").write(json.dumps(said))
    open(given.report, "w").write(f"# {given.target}")
    sys.exit(verdict == "failed")
"""
MINE = Row(package="tri-backend-mine", targets={"sim:mine:m1": 5}, owed=True, device_sample=3)


def _write(
    made: MadeUp,
    version: str,
    core: str,
    uses: str,
    *,
    lowest: str = "0.1",
    devices: str = "'m1', 'm1', 'm2'",
) -> None:
    needs = f"tri-core>={lowest},<0.3"
    made.package("tri-core", version, (), {"plugins.py": dedent(CORE) + core})
    sources = {"plugin.py": f"USES = {uses!r}\nDEVICES = [{devices}]\n"}
    made.package("tri-backend-mine", version, (needs,), sources, plugin=True)
    made.package(KIT, version, ("tri-core>=0.1,<0.3",), {"__main__.py": dedent(JUDGE)})


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeUp:
    """0.1.0 is released; core 0.2.0 has something new, which the backend of the tree uses and does not say."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    made = MadeUp(tmp_path / "repository")
    _write(made, "0.1.0", "", "manager")
    made.release("0.1.0", "tri-core", "tri-backend-mine", KIT)
    _write(made, "0.2.0", "new = 1\n", "new")
    made.commit()
    return made


def _session(made: MadeUp, **wanted: object) -> Session:
    console = Console(file=io.StringIO(), width=200)
    plan = Plan(made.top, KIT)
    asked = replace(Wanted(jobs=2), **wanted)  # type: ignore[arg-type]
    return Session(
        plan=plan, wanted=asked, work=made.top.parent / "work", console=console, installer=Installer(uv=None)
    )


def _said(outcomes: Sequence[Outcome]) -> list[tuple[str, str, str, bool | None]]:
    return [
        (o.job.target, o.job.pairing.name, o.job.pairing.versions.get("tri-core", ""), o.right)
        for o in outcomes
    ]


def test_a_range_that_promises_too_much_is_found(made: MadeUp) -> None:
    session = _session(made)
    outcomes = session.run([MINE])
    assert _said(outcomes) == [
        (target, choice, core, right)
        for target in ("mine", "mine:m2", "sim:mine:m1")
        for choice, core, right in (("newest", "0.2.0", True), ("oldest", "0.1.0", False))
    ]
    assert not is_right(outcomes)
    assert "mine:m2, oldest: static/uses/: core lacks it" in list(problems(outcomes))
    assert [o.left_out for o in outcomes] == [2, 2, 2, 2, 4, 4]
    assert list(listings(session.pairings([MINE]))) == [
        "tri-backend-mine, newest: tri-backend-mine 0.2.0, tri-conformance 0.2.0, tri-core 0.2.0",
        "tri-backend-mine, oldest: tri-backend-mine 0.2.0, tri-conformance 0.2.0, tri-core 0.1.0",
    ]
    _check_alone_afterwards(session)


def _check_alone_afterwards(session: Session) -> None:
    """Additions to an environment, and packages missing from it, are noticed."""
    (newest, _) = session.pairings([MINE])
    environment = Environment(session.environments / newest.folder)
    environment.check_alone(newest.versions)
    with pytest.raises(NotAlone, match=r"should hold .*tri-runtime 0.2.0"):
        environment.check_alone({**newest.versions, "tri-runtime": "0.2.0"})
    with pytest.raises(NotAlone):
        environment.check_alone({**newest.versions, "tri-core": "0.1.0"})
    site = next(environment.root.glob("lib/python*/site-packages"))
    foreign = site / "foreign_backend-1.0.dist-info"
    foreign.mkdir()
    (foreign / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign-backend\nVersion: 1.0\n")
    (foreign / "entry_points.txt").write_text("[tri]\nforeign = foreign.plugin\n")
    with pytest.raises(NotAlone, match=r"foreign-backend 1\.0"):
        environment.check_alone(newest.versions)


def test_a_raised_bound_leaves_one_choice(made: MadeUp, tmp_path: Path) -> None:
    _write(made, "0.2.0", "new = 1\n", "new", lowest="0.2")
    broken = tmp_path / "uv"
    broken.write_text("#!/bin/sh\necho no network\nexit 2\n")
    broken.chmod(0o755)
    session = replace(_session(made, target="sim:*", sample=1), installer=Installer(uv=str(broken)))
    outcomes = session.run([MINE])
    assert _said(outcomes) == [("sim:mine:m1", "newest = oldest", "0.2.0", True)]
    assert is_right(outcomes)
    assert session.installer.uv is None


def test_an_owed_device_that_is_absent_is_wrong(made: MadeUp) -> None:
    _write(made, "0.2.0", "new = 1\n", "new", lowest="0.2", devices="")
    outcomes = _session(made, target="mine*").run([MINE])
    assert [(o.job.target, o.right) for o in outcomes] == [("tri-backend-mine", False)]
    assert "finds no device" in outcomes[0].reason
    assert not is_right(outcomes)


def test_versions_that_exclude_each_other_are_not_installed(made: MadeUp, tmp_path: Path) -> None:
    session = _session(made)
    (_, oldest) = session.pairings([MINE])
    # the wheel is of another range than the one that was read
    _write(made, "0.2.0", "new = 1\n", "new", lowest="0.2")
    with pytest.raises(InstallError, match=r"tri-core"):
        prepare(oldest, session.wheelhouse, session.installer, tmp_path / "environments")


def test_without_history_the_oldest_is_not_tested(made: MadeUp, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    made.commit()
    git(tmp_path, "clone", "--quiet", "--depth=1", made.top.as_uri(), str(clone))
    git(clone, "remote", "remove", "origin")
    found = list(Plan(clone, KIT).pairings(MINE))
    assert [(p.name, bool(p.untested)) for p in found] == [("newest", False), ("oldest", True)]
    session = replace(_session(made), plan=Plan(clone, KIT), wanted=Wanted(pairing="oldest"))
    (outcome,) = session.run([MINE])
    assert outcome.right is None
    assert "is not in this clone" in outcome.reason
    with pytest.raises(HistoryError):
        list(Plan(clone, KIT, demand_history=True).pairings(MINE))


def _outcome(target: str, right: bool | None, **fields: object) -> Outcome:
    pairing = Pairing(row=MINE, name="newest", chosen={})
    counts = {"passed": 7, "failed": 0 if right else 1} if right is not None else {}
    made = Outcome(job=Job(target=target, pairing=pairing, sample=8), right=right, counts=counts)
    return replace(made, **fields)  # type: ignore[arg-type]


def test_the_table_says_everything() -> None:
    outcomes = [
        _outcome("sim:mine:m1", True, left_out=5, seconds=12.4),
        _outcome("mine", False, failures=tuple(f"case{i}: wrong" for i in range(30))),
        _outcome("old", None, reason="no history"),
    ]
    stream = io.StringIO()
    Console(file=stream, width=200).print(table(outcomes))
    text = stream.getvalue()
    for said in ("sim:mine:m1", "5, 1 in 8 was", "12 s", "yes", "NO", "not tested"):
        assert said in text
    assert list(problems(outcomes))[-2:] == ["mine, newest: and 10 more", "old, newest: no history"]
    said_json = json.loads(to_json(outcomes))
    assert [run["right"] for run in said_json["runs"]] == [True, False, None]
    assert not said_json["ok"]
    assert "[`mine`](mine.md)" in to_markdown(outcomes, [])


@pytest.mark.parametrize(
    ("right", "expected"),
    [([], False), ([None], False), ([True], True), ([True, None], True), ([True, False], False)],
)
def test_nothing_run_is_not_right(right: list[bool | None], expected: bool) -> None:
    assert is_right([_outcome("x", value) for value in right]) is expected


def test_our_rows_name_our_backends() -> None:
    plugins = {
        name for name, project in projects(TOP).items() if name.startswith("tri-backend-") and project.plugins
    }
    assert {row.package for row in ROWS} == plugins
    assert all(set(row.extras) <= set(projects(TOP)[row.package].extras) for row in ROWS)


def test_nothing_of_the_caller_reaches_an_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "e")], check=True)
    monkeypatch.setenv("PYTHONPATH", str(TOP))
    monkeypatch.chdir(tmp_path)
    done = Environment(Path("e")).run("-c", "import sys; print(sys.path)")
    assert str(TOP) not in done.stdout
    Environment(Path("e")).check_alone({})
