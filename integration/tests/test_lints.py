"""The repository's lints hold, and each of them catches what it is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.lints import op_names
from integration.lints.rules import Package, check, op_counts, packages

TOP = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("package", packages(TOP), ids=lambda p: p.name)
def test_package_follows_the_rules(package: Package) -> None:
    assert [str(finding) for finding in check(package)] == []


def _plant(tmp_path: Path, files: dict[str, str], name: str = "tri-core") -> list[str]:
    (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "{name}"\ndependencies = ["numpy>=1"]\n')
    for path, text in files.items():
        target = tmp_path / "src" / "pkg" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return [finding.message for finding in check(Package(tmp_path))]


PLANTED = {
    "vendor": ({"a.py": "x = 'made for CUDA'\n"}, "vendor name 'CUDA'"),
    "private module": ({"a.py": "import numpy._core\n"}, "private import numpy._core"),
    "private name": ({"a.py": "from numpy import _core\n"}, "private import numpy _core"),
    "undeclared": ({"a.py": "import scipy\n"}, "imports scipy, which it does not declare"),
    "long function": ({"a.py": "def f():\n" + "    x = 1\n" * 60}, "f: 61 lines"),
    "long file": ({"a.py": "x = 1\n" * 601}, "601 lines in one file"),
    "lock": ({"a.py": "import threading\n_lock = threading.Lock()\n"}, "Lock: use tri_core.forks"),
    "lock by name": ({"a.py": "from threading import RLock\n_lock = RLock()\n"}, "RLock: use tri_core.forks"),
    "list of ops": (
        {"a.py": "_PURE = frozenset({'tt.splat', 'arith.addi', 'math.exp', 'ttg.local_load'})\n"},
        "_PURE lists ops: declare what they are",
    ),
    "linker": (
        {"a.py": "def f(llvm):\n    llvm.create_lljit_compiler()\n"},
        "load objects by tri_runtime.loader",
    ),
    "walk": ({"a.py": "def f(op, visit):\n    op.walk(visit)\n"}, "call tri_core.ir.walking.walk"),
    "namespace": (
        {"a.py": "def f(x):\n    return [n for n, v in vars(x).items() if v]\n"},
        "vars(x) may grow meanwhile",
    ),
    "modules": (
        {"a.py": "import sys\nfor name in sys.modules:\n    pass\n"},
        "sys.modules may grow meanwhile",
    ),
    "cycle": ({"a.py": "from pkg import b\n", "b.py": "from pkg import a\n"}, "import cycle: "),
    "cycle of types": (
        {
            "a.py": "from pkg import b\n",
            "b.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pkg import a\n",
        },
        "import cycle: ",
    ),
    "cycle through functions": (
        {
            "a.py": "def f():\n    from pkg import b\n",
            "b.py": "from pkg.c import x\n",
            "c.py": "from pkg.a import f\nx = 1\n",
        },
        "import cycle through functions: ",
    ),
    "folders": (
        {
            **dict.fromkeys(("low/__init__.py", "high/__init__.py"), ""),
            "low/a.py": "def f():\n    from pkg.high import a\n",
            "low/b.py": "x = 1\n",
            "high/a.py": "x = 1\n",
            "high/b.py": "from pkg.low.b import x\n",
        },
        "folders import each other: ",
    ),
    "field of a policy": (
        {"a.py": "def f(self):\n    return getattr(self.policy, 'ping_pong', None)\n"},
        "getattr of the policy's ping_pong: declare a typed field",
    ),
}


@pytest.mark.parametrize("case", PLANTED)
def test_rule_catches(case: str, tmp_path: Path) -> None:
    files, expected = PLANTED[case]
    findings = _plant(tmp_path, {"__init__.py": "", **files})
    assert len(findings) == 1
    assert expected in findings[0]


ALLOWED = {
    "types that a function imports": {
        "a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pkg import b\n",
        "b.py": "def f():\n    from pkg import a\n",
    },
    "a package and its own": {
        "__init__.py": "def f():\n    from pkg import a\n",
        "a.py": "def f():\n    from pkg import f\n",
    },
    "a folder and one in it": {
        "low/__init__.py": "",
        "low/a.py": "x = 1\n",
        "low/b.py": "from pkg.low.inner.a import x\n",
        "low/inner/__init__.py": "",
        "low/inner/a.py": "from pkg.low.a import x\n",
    },
    "one way": {
        "low/__init__.py": "",
        "low/a.py": "x = 1\n",
        "high/__init__.py": "",
        "high/a.py": "def f():\n    from pkg.low import a\n",
    },
}


@pytest.mark.parametrize("case", ALLOWED)
def test_imports_without_a_circle_are_let_be(case: str, tmp_path: Path) -> None:
    assert _plant(tmp_path, {"__init__.py": "", **ALLOWED[case]}) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(op):\n    return op.name == 'tt.dot'\n", "1 tests of an op's name"),
        ("def f(op):\n    return op.name.startswith('arith.')\n", "1 tests of an op's name"),
        ("def f(op):\n    return op.operands[0]\n", "1 operands by number"),
    ],
)
def test_passes_that_know_ops_by_name_are_seen(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(op_names, "BUDGETS", {})
    (found,) = _plant(tmp_path, {"__init__.py": "", "passes/a.py": text, "passes/rules/b.py": text})
    assert message in found
    monkeypatch.setattr(op_names, "BUDGETS", {"tri-core": (1, 1)})
    assert _plant(tmp_path, {"__init__.py": "", "passes/a.py": text}) == []


@pytest.mark.parametrize("package", packages(TOP), ids=lambda p: p.name)
def test_budgets_fall_with_what_they_allow(package: Package) -> None:
    """Fewer than allowed: write the new numbers down, so that they cannot rise again."""
    assert op_counts(package) == op_names.BUDGETS.get(package.name, (0, 0))


def test_clean_package_has_no_findings(tmp_path: Path) -> None:
    files = {"__init__.py": "", "a.py": "import numpy\nfrom pkg import b\n", "b.py": "cuda_free = 1\n"}
    assert _plant(tmp_path, files, name="tri-backend-nvidia") == []


@pytest.mark.parametrize("trick", ["noqa: E402", "sys.path.insert(0, str(Path"])
def test_tests_import_their_helpers_plainly(trick: str) -> None:
    """Helpers that tests of a package share stand in ``tests/helpers``, which pytest's ``pythonpath`` names."""
    found = [
        str(path.relative_to(TOP))
        for path in TOP.glob("packages/*/tests/**/*.py")
        if trick in path.read_text()
    ]
    assert not found
