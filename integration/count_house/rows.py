"""Figures of the repository, each with its goal: lines, words, files that one change touches, ops by name, circles, docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from integration.count_house.docstrings import questions
from integration.count_house.ops import name_tests, named_ops, operand_subscripts
from integration.lints.rules import Package, import_cycles, packages

__all__ = ["ROWS", "Count", "House", "Row"]

#: parts of packages that prove compilers, and that no kernel needs
_PROVING = re.compile(r"/(simulator|simulation|races|testing|cycles)(/|\.py)|standin")
#: one chip, pass and op, for which the files that name them are counted
_CHIP, _PASS, _OPS = (
    "gfx1250",
    ("fold-comparisons", "fold_comparisons", "FoldComparisons"),
    ("clampf", "ClampFOp"),
)


@dataclass(frozen=True)
class Count:
    """A figure, and the places that make it."""

    value: int
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class House:
    """The repository at ``top``."""

    top: Path

    @classmethod
    def here(cls) -> House:
        """The repository around this file."""
        return cls(Path(__file__).resolve().parents[2])

    @cached_property
    def packages(self) -> list[Package]:
        """Its packages."""
        return list(packages(self.top))

    @cached_property
    def sources(self) -> dict[Path, ast.Module]:
        """Modules of all packages, with their syntax trees."""
        files = sorted(self.top.glob("packages/*/src/**/*.py"))
        return {path: ast.parse(path.read_text()) for path in files}

    @cached_property
    def texts(self) -> dict[str, str]:
        """Texts of the packages and their documents, by path; changelogs are history and do not count."""
        kinds = (
            "packages/**/*.py",
            "packages/**/*.toml",
            "packages/**/*.mlir",
            "docs/**/*.md",
            "integration/**/*.py",
        )
        files = {path for kind in kinds for path in self.top.glob(kind)}
        return {self.name(path): path.read_text() for path in sorted(files)}

    def name(self, path: Path) -> str:
        """The path below the repository."""
        return path.relative_to(self.top).as_posix()


@dataclass(frozen=True)
class Row:
    """A figure that is to fall, or, where it ``rises``, to grow, to ``goal``; a test refuses what is worse than ``held``."""

    key: str
    what: str
    goal: int
    count: Callable[[House], Count]
    rises: bool = False
    held: int | None = None


def _lines(path: Path) -> int:
    return path.read_text().count("\n")


def _source_lines(house: House) -> Count:
    lines = {path: _lines(path) for path in house.sources}
    by_package: dict[str, int] = {}
    for path, count in lines.items():
        package = path.relative_to(house.top).parts[1]
        by_package[package] = by_package.get(package, 0) + count
    return Count(sum(lines.values()), tuple(f"{name}: {count}" for name, count in sorted(by_package.items())))


def _proving_lines(house: House) -> Count:
    lines = {house.name(path): _lines(path) for path in house.sources if _PROVING.search(path.as_posix())}
    installed = {
        name: count
        for name, count in lines.items()
        if "tri-conformance" not in name and "tri-simulator" not in name
    }
    return Count(sum(installed.values()), tuple(f"{name}: {count}" for name, count in installed.items()))


def _files_naming(*words: str) -> Callable[[House], Count]:
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, words)) + r")\b")

    def count(house: House) -> Count:
        named = [
            name
            for name, text in house.texts.items()
            if name.startswith("packages/") and pattern.search(text)
        ]
        return Count(len(named), tuple(named))

    return count


#: ops of dialects are declared there, instructions of assembly texts are no ops
_APART = re.compile(r"/(dialects?|text|sass)/")


def _per_source(find: Callable[[ast.Module], Iterator[ast.AST]]) -> Callable[[House], Count]:
    def count(house: House) -> Count:
        places = [
            f"{house.name(path)}:{getattr(node, 'lineno', 1)}"
            for path, tree in house.sources.items()
            if not _APART.search(path.as_posix())
            for node in find(tree)
        ]
        return Count(len(places), tuple(places))

    return count


def _circles(house: House) -> Count:
    found = [finding.message for package in house.packages for finding in import_cycles(package)]
    return Count(len(found), tuple(found))


def _mirrored(house: House) -> Count:
    """Share of test files, in percent, whose path is that of a module or folder of their package."""
    other = []
    tests = sorted(house.top.glob("packages/*/tests/**/test_*.py"))
    for path in tests:
        package, _, *folders, file = path.relative_to(house.top / "packages").parts
        (source,) = [
            each
            for each in (house.top / "packages" / package / "src").iterdir()
            if each.is_dir() and (each / "__init__.py").exists()
        ]
        module = source.joinpath(*folders, file.removeprefix("test_"))
        if not module.exists() and not module.with_suffix("").is_dir():
            other.append(house.name(path))
    return Count(round(100 * (len(tests) - len(other)) / max(1, len(tests))), tuple(other))


def _words(house: House) -> Count:
    words = {name: len(text.split()) for name, text in house.texts.items() if name.startswith("docs/")}
    largest = sorted(words.items(), key=lambda item: -item[1])
    return Count(sum(words.values()), tuple(f"{name}: {count}" for name, count in largest))


def _long_designs(house: House) -> Count:
    words = {name: len(text.split()) for name, text in house.texts.items() if name.startswith("docs/design/")}
    long = [
        f"{name}: {count}" for name, count in sorted(words.items(), key=lambda item: -item[1]) if count > 2000
    ]
    return Count(len(long), tuple(long))


def _questions(house: House) -> Count:
    trees = {**house.sources}
    for path in sorted(house.top.glob("integration/**/*.py")):
        trees[path] = ast.parse(path.read_text())
    places = [
        f"{house.name(path)}:{line}: {first}"
        for path, tree in trees.items()
        for line, first in questions(tree)
    ]
    return Count(len(places), tuple(places))


ROWS = (
    Row("lines", "source lines of packages", 138_000, _source_lines),
    Row("proving", "of them simulators, races and tests' helpers outside the kit", 3_000, _proving_lines),
    Row("chip", f"files of packages that name a chip ({_CHIP})", 5, _files_naming(_CHIP)),
    Row("pass", f"files of packages that name a pass ({_PASS[0]})", 6, _files_naming(*_PASS)),
    Row("op", f"files of packages that name an op ({_OPS[0]})", 5, _files_naming(*_OPS)),
    Row("strings", "ops written by string", 50, _per_source(named_ops)),
    Row("names", "tests of an op's name", 40, _per_source(name_tests), held=130),
    Row("operands", "operands by number", 40, _per_source(operand_subscripts), held=226),
    Row("circles", "import circles", 0, _circles, held=0),
    Row("mirror", "tests whose path is their source's, percent", 90, _mirrored, rises=True, held=51),
    Row("words", "words of docs", 110_000, _words),
    Row("designs", "pages of design over 2,000 words", 0, _long_designs),
    Row("questions", "docstrings that open with a question word", 100, _questions, held=0),
)
