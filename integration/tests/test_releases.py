"""Versions, ranges and releases of made-up packages, and of ours."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.version import Version

from integration.releases.choice import Candidate, NoChoice, candidates, newest, oldest
from integration.releases.contract import Contract, Plugin, Sources, imports
from integration.releases.edits import raise_bounds, record
from integration.releases.history import History, HistoryError
from integration.releases.project import Project, projects
from integration.releases.records import read_releases
from integration.releases.rules import RULES, STATIC, Repository
from integration.tests.made_up import MadeUp, git
from tri_core.errors import OptionError

TOP = Path(__file__).resolve().parents[2]

HOOKS = """
HOOKSPEC_API = ({major}, {minor})

@hookspec
def tri_backends():
    ...

@hookspec
def tri_target(key, device):
    ...
"""
PLUGIN = """
from tri_core.api import hookimpl

TRI_PLUGIN_API = (1, 0)
TRI_REQUIRES = {"tri-runtime": ">=0.1,<0.3"}

@hookimpl
def tri_target(key):
    ...
"""
CORE = {"hookspecs.py": HOOKS.format(major=1, minor=0), "api.py": "from tri_core.hookspecs import hookimpl\n"}
RUNTIME = {"launch.py": "def launch(): ...\n"}
RANGE = (">=0.1,<0.3",)


@pytest.fixture
def made(tmp_path: Path) -> MadeUp:
    """Core, runtime and a backend, 0.1.0 released, the tree being 0.2.0; nothing is wrong with it."""
    made = MadeUp(tmp_path / "repository")
    _write(made, "0.1.0", "<0.2")
    made.release("0.1.0", "tri-core", "tri-runtime", "tri-backend-mine")
    _write(made, "0.2.0", "<0.3")
    made.commit()
    return made


def _write(made: MadeUp, version: str, upper: str) -> None:
    made.package("tri-core", version, (), CORE)
    made.package("tri-runtime", version, (f"tri-core>=0.1,{upper}",), RUNTIME)
    plugin = PLUGIN.replace("<0.3", upper)
    requires = (f"tri-core>=0.1,{upper}", f"tri-runtime>=0.1,{upper}")
    made.package("tri-backend-mine", version, requires, {"plugin.py": plugin}, plugin=True)


def _findings(top: Path, scratch: Path) -> list[str]:
    subjects = Repository(top, scratch).subjects()
    return [f"{rule.__name__}: {finding}" for rule in RULES for s in subjects for finding in rule(s)]


def _edit(path: str, old: str, new: str) -> Callable[[MadeUp], None]:
    def edit(made: MadeUp) -> None:
        file = made.top / "packages" / path
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    return edit


MINE = "tri-backend-mine/src/tri_backend_mine"
PLANTED = {
    "no section": (
        _edit("tri-core/CHANGELOG.md", "0.2.0", "0.2.0.1"),
        "changelog: tri-core: the changelog has no",
    ),
    "another version in the module": (
        _edit("tri-core/src/tri_core/__init__.py", "0.2.0", "0.1.9"),
        "changelog: tri-core: tri_core.__version__ is 0.1.9",
    ),
    "the tree is excluded": (
        _edit("tri-runtime/pyproject.toml", "<0.3", "<0.2"),
        "ranges: tri-runtime: tri-core<0.2,>=0.1 excludes 0.2.0",
    ),
    "no upper bound": (
        _edit("tri-runtime/pyproject.toml", ",<0.3", ""),
        "ranges: tri-runtime: tri-core>=0.1 has no",
    ),
    "a lower bound that nobody can build": (
        _edit("tri-runtime/pyproject.toml", ">=0.1", ">=0.1.5"),
        "neither released nor the tree's; start it at one of 0.1.0, 0.2.0",
    ),
    "other ranges at run time": (
        _edit(f"{MINE}/plugin.py", '">=0.1,<0.3"', '">=0.1,<0.4"'),
        "requires: tri-backend-mine: TRI_REQUIRES of tri_backend_mine.plugin says tri-runtime>=0.1,<0.4",
    ),
    "a name that is new": (
        _edit(f"{MINE}/plugin.py", "import hookimpl", "import Added, hookimpl"),
        "plugin.py:2 imports tri_core.api.Added, which tri-core 0.1.0 does not have",
    ),
    "a module that is new": (
        _edit(f"{MINE}/__init__.py", "__version__", "import tri_runtime.added\n\n__version__"),
        "imports tri_runtime.added, which tri-runtime 0.1.0 does not have",
    ),
    "a hook that is new": (
        _edit(f"{MINE}/plugin.py", "tri_target(key)", "tri_policy(key)"),
        "plugin does not work with tri-core 0.1.0, which it admits: it has no hook tri_policy",
    ),
    "an argument that is new": (
        _edit(f"{MINE}/plugin.py", "(key)", "(key, more)"),
        "tri_target has no argument more",
    ),
    "a contract that is newer": (
        _edit(f"{MINE}/plugin.py", "(1, 0)", "(1, 1)"),
        "it has contract 1.0, the plugin is written for 1.1",
    ),
    "hooks changed": (
        _edit(
            "tri-core/src/tri_core/hookspecs.py",
            "def tri_backends",
            "def tri_policy(target):\n    ...\n\n@hookspec\ndef tri_backends",
        ),
        "contract: tri-core: hooks differ from those of tri-core 0.1.0, HOOKSPEC_API is (1, 0); make it (1, 1)",
    ),
}


def test_a_good_repository_has_no_findings(made: MadeUp, tmp_path: Path) -> None:
    assert _findings(made.top, tmp_path / "scratch") == []


@pytest.mark.parametrize("case", PLANTED)
def test_rule_catches(case: str, made: MadeUp, tmp_path: Path) -> None:
    plant, expected = PLANTED[case]
    plant(made)
    (finding,) = _findings(made.top, tmp_path / "scratch")
    assert expected in finding


def test_a_changed_package_needs_a_new_version(made: MadeUp, tmp_path: Path) -> None:
    made.release("0.2.0", "tri-runtime")
    assert _findings(made.top, tmp_path / "scratch") == []
    _edit("tri-runtime/src/tri_runtime/launch.py", "...", "return 1")(made)
    (finding,) = _findings(made.top, tmp_path / "scratch")
    assert "1 files differ from tri-runtime 0.2.0, packages/tri-runtime/src/tri_runtime/launch.py" in finding


def test_a_raised_bound_makes_new_names_right(made: MadeUp, tmp_path: Path) -> None:
    _edit("tri-core/src/tri_core/api.py", "hookimpl\n", "hookimpl\nAdded = 1\n")(made)
    _edit(f"{MINE}/plugin.py", "import hookimpl", "import Added, hookimpl")(made)
    _edit("tri-backend-mine/pyproject.toml", "tri-core>=0.1", "tri-core>=0.2")(made)
    assert _findings(made.top, tmp_path / "scratch") == []


def test_a_commit_of_another_version_is_no_release(made: MadeUp, tmp_path: Path) -> None:
    made.recorded = {}
    made.release("0.1.0", "tri-core", "tri-runtime", "tri-backend-mine")
    found = _findings(made.top, tmp_path / "scratch")
    assert [f for f in found if f.startswith("recorded: tri-core: releases.toml has 0.1.0 at")]


OWED = {
    "nothing": ("", "", (1, 4)),
    "a hook is added": ("def tri_backends", "def tri_new(a):\n  ...\n\n@hookspec\ndef tri_backends", (1, 5)),
    "an argument is added": ("(key, device)", "(key, device, options)", (1, 5)),
    "an argument is gone": ("(key, device)", "(key)", (2, 0)),
    "a hook is renamed": ("tri_target", "tri_targets", (2, 0)),
}


@pytest.mark.parametrize("case", OWED)
def test_the_contract_owes_a_version(case: str) -> None:
    old, new, expected = OWED[case]
    before = HOOKS.format(major=1, minor=4)
    assert (
        Contract.parse(before.replace(old, new) if old else before).owed(Contract.parse(before)) == expected
    )


def test_a_plugin_is_read() -> None:
    plugin = Plugin.parse(PLUGIN)
    assert plugin == Plugin((1, 0), {"tri-runtime": ">=0.1,<0.3"}, {"tri_target": ("key",)})


def test_guarded_imports_are_free(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "import one.two\n"
        "if TYPE_CHECKING:\n    from absent import checked\nelse:\n    from absent import unchecked\n"
        "try:\n    from absent import tried\nexcept ImportError:\n    from absent import instead\n"
        "def f():\n    from absent import late\n"
    )
    found = {(i.module, i.name) for i in imports(tmp_path)}
    expected = {("one.two", ""), ("absent", "unchecked"), ("absent", "instead"), ("absent", "late")}
    assert found == {("typing", "TYPE_CHECKING"), *expected}


def test_bound_names_are_found(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text(
        "from pkg.other import a as b\nx, (y, *z) = 1, (2, 3)\nw: int = 1\n"
    )
    (tmp_path / "pkg" / "other.py").write_text("try:\n    def a(): ...\nexcept ValueError:\n    c = 1\n")
    (tmp_path / "user.py").write_text(
        "from pkg import b, x, y, z, w, other\nfrom pkg.other import a, c, d\nfrom pkg import a\nimport pkg.absent\n"
    )
    lacking = [
        (i.module, i.name)
        for i in imports(tmp_path)
        if i.file.name == "user.py" and not Sources(tmp_path).has(i)
    ]
    assert lacking == [("pkg.other", "d"), ("pkg", "a"), ("pkg.absent", "")]


# --- choices ---------------------------------------------------------------------------------------------


def _candidate(name: str, version: str, **ranges: str) -> Candidate:
    requires = tuple(Requirement(f"{other}{text}") for other, text in ranges.items())
    return Candidate(project=Project(name=name, version=Version(version), requires=requires))


def _versions(chosen: dict[str, Candidate]) -> dict[str, str]:
    return {name: str(candidate.version) for name, candidate in chosen.items()}


def test_the_oldest_core_and_the_newest_kit_that_admits_it() -> None:
    found = {
        "core": [_candidate("core", v) for v in ("0.1", "0.2", "0.3", "0.4")],
        "mine": [_candidate("mine", "0.1"), _candidate("mine", "0.4", core=">=0.2,<0.5")],
        "kit": [
            _candidate("kit", v, core=r) for v, r in (("0.1", "<0.3"), ("0.2", "<0.4"), ("0.3", ">=0.3"))
        ],
        "other": [_candidate("other", "0.1", core="==0.1")],
    }
    assert _versions(oldest("mine", (), "kit", found)) == {"core": "0.2", "mine": "0.4", "kit": "0.2"}
    assert _versions(newest("mine", (), "kit", found)) == {"core": "0.4", "mine": "0.4", "kit": "0.3"}


def test_a_sibling_raises_the_core() -> None:
    found = {
        "core": [_candidate("core", "0.1"), _candidate("core", "0.2")],
        "gpu": [_candidate("gpu", "0.1", core="<0.2"), _candidate("gpu", "0.2", core=">=0.2")],
        "mine": [_candidate("mine", "0.2", core=">=0.1", gpu=">=0.2")],
        "kit": [_candidate("kit", "0.2", core=">=0.1")],
    }
    assert _versions(oldest("mine", (), "kit", found))["core"] == "0.2"


def test_ranges_that_exclude_each_other_are_refused() -> None:
    found = {
        "core": [_candidate("core", "0.1"), _candidate("core", "0.3")],
        "mine": [_candidate("mine", "0.3", core=">=0.2,<0.3")],
        "kit": [_candidate("kit", "0.3")],
    }
    with pytest.raises(NoChoice, match="no versions of core, mine and kit") as error:
        oldest("mine", (), "kit", found)
    assert pickle.loads(pickle.dumps(error.value)).remedy


@given(st.data())
def test_every_choice_satisfies_every_range(data: st.DataObject) -> None:
    """Against all choices: the chosen one is admitted, and none with an older core is."""
    numbers = st.integers(1, 3)
    core = [_candidate("core", f"0.{v}") for v in (1, 2, 3)]
    runtime = [_candidate("runtime", f"0.{v}", core=f"<=0.{data.draw(numbers)}") for v in (1, 2, 3)]
    mine = _candidate("mine", "0.3", core=f">=0.{data.draw(numbers)}", runtime=f">=0.{data.draw(numbers)}")
    found = {
        "core": core,
        "runtime": runtime,
        "mine": [mine],
        "kit": [_candidate("kit", "0.3", core=">=0.1")],
    }
    admitted = [
        (c, r)
        for c in core
        for r in runtime
        if c.version in r.project.ranges(["core"])["core"]
        and c.version in mine.project.ranges(["core"])["core"]
        and r.version in mine.project.ranges(["runtime"])["runtime"]
    ]
    if not admitted:
        with pytest.raises(NoChoice):
            oldest("mine", (), "kit", found)
        return
    chosen = oldest("mine", (), "kit", found)
    assert (chosen["core"], chosen["runtime"]) == min(
        admitted, key=lambda pair: (pair[0].version, pair[1].version)
    )


# --- history ---------------------------------------------------------------------------------------------


def test_old_versions_come_from_commits(made: MadeUp) -> None:
    found = candidates(projects(made.top), read_releases(made.top / "releases.toml"), History(made.top))
    assert [str(c.version) for c in found["tri-core"]] == ["0.1.0", "0.2.0"]
    assert str(found["tri-runtime"][0].project.ranges(["tri-core"])["tri-core"]) == "<0.2,>=0.1"


def test_a_shallow_clone_asks_its_origin(made: MadeUp, tmp_path: Path) -> None:
    made.commit()
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth=1", made.top.as_uri(), str(clone))
    released = made.recorded["tri-core", "0.1.0"]
    away = tmp_path / "away"
    made.top.rename(away)
    with pytest.raises(
        HistoryError, match=r"is not in this clone, and origin does not give it: fatal: "
    ) as error:
        History(clone).ensure(released)
    assert "unshallow" in str(error.value.remedy)
    away.rename(made.top)
    assert 'version = "0.1.0"' in History(clone).read(released, "packages/tri-core/pyproject.toml")


def test_no_repository_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HistoryError):
        History(tmp_path).ensure("0" * 40)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a", "cannot be read"),
        ("a = 1", "a = 1"),
        ('[a]\n"0.1" = "abc"', "the commit of a 0.1 is 'abc'"),
        (f'[a]\n"x" = "{"0" * 40}"', "'x' is no version"),
        (f'[a]\n"0.1" = "{"0" * 40}"\n"0.1.0" = "{"0" * 40}"', "twice"),
    ],
)
def test_records_that_cannot_be_meant(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "releases.toml").write_text(text)
    with pytest.raises(OptionError, match=message):
        read_releases(tmp_path / "releases.toml")


@pytest.mark.parametrize("rule", STATIC, ids=lambda rule: rule.__name__)
def test_our_packages_follow_the_rules(rule: Callable[..., object], tmp_path: Path) -> None:
    subjects = Repository(TOP, tmp_path).subjects()
    assert [str(f) for s in subjects for f in rule(s)] == []  # type: ignore[attr-defined]


# --- edits -----------------------------------------------------------------------------------------------


def _text(made: MadeUp, path: str) -> str:
    return (made.top / "packages" / path).read_text()


def test_bounds_are_raised_where_a_name_is_new(made: MadeUp, tmp_path: Path) -> None:
    _edit("tri-runtime/src/tri_runtime/launch.py", "launch", "launch_all")(made)
    _edit(
        f"{MINE}/plugin.py", "TRI_PLUGIN_API", "from tri_runtime.launch import launch_all\n\nTRI_PLUGIN_API"
    )(made)
    assert raise_bounds(Repository(made.top, tmp_path / "scratch")) == ["tri-backend-mine: tri-runtime>=0.2"]
    assert '"tri-core>=0.1,<0.3", "tri-runtime>=0.2,<0.3"' in _text(made, "tri-backend-mine/pyproject.toml")
    assert 'TRI_REQUIRES = {"tri-runtime": ">=0.2,<0.3"}' in _text(made, f"{MINE}/plugin.py")
    assert _findings(made.top, tmp_path / "scratch") == []


def test_a_release_is_recorded_and_the_tree_goes_on(made: MadeUp, tmp_path: Path) -> None:
    repository = Repository(made.top, tmp_path / "scratch")
    head = repository.history.head()
    outside = made.top / "integration" / "outside" / "pyproject.toml"
    outside.parent.mkdir(parents=True)
    mine = _text(made, "tri-backend-mine/pyproject.toml")
    outside.write_text(mine)
    assert record(repository, "tri-runtime", head) == f"tri-runtime 0.2.0 is {head[:12]}, the tree is 0.3.0"
    assert [str(r.version) for r in read_releases(made.top / "releases.toml")["tri-runtime"]] == [
        "0.1.0",
        "0.2.0",
    ]
    assert 'version = "0.3.0"' in _text(made, "tri-runtime/pyproject.toml")
    assert '"tri-core>=0.1,<0.3", "tri-runtime>=0.1,<0.4"' in _text(made, "tri-backend-mine/pyproject.toml")
    assert outside.read_text() == _text(made, "tri-backend-mine/pyproject.toml") != mine
    lines = _text(made, "tri-runtime/CHANGELOG.md").splitlines()
    assert lines[2] == "## 0.3.0 (unreleased)"
    assert lines[4].startswith("## 0.2.0 (20")
    assert _findings(made.top, tmp_path / "scratch") == []
    with pytest.raises(OptionError, match=r"has not tri-runtime 0\.2\.0"):
        record(Repository(made.top, tmp_path / "scratch"), "tri-runtime", head)


def test_a_bound_is_raised_to_the_next_release_first(made: MadeUp, tmp_path: Path) -> None:
    """A feature of the release after the oldest does not exclude it."""
    _edit("tri-runtime/src/tri_runtime/launch.py", "launch", "launch_all")(made)
    record(Repository(made.top, tmp_path / "one"), "tri-runtime", made.commit())
    _edit(
        f"{MINE}/plugin.py", "TRI_PLUGIN_API", "from tri_runtime.launch import launch_all\n\nTRI_PLUGIN_API"
    )(made)
    assert raise_bounds(Repository(made.top, tmp_path / "two")) == ["tri-backend-mine: tri-runtime>=0.2"]
    assert _findings(made.top, tmp_path / "two") == []
