"""Docstrings of public names give arguments, shapes, dtypes, errors: ``python -m integration.lints.docstrings`` lists those that don't.

Of functions of the language: words for shapes, for dtypes and for errors; of others: for errors.  :data:`NOT_ASKED` has the
functions for which one of these means nothing.  Of classes: the names of their constructor's arguments, unless the docstring
has that something else makes them (``made by``).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache

from integration.website.reference import Definition, definitions, public_names

__all__ = ["ASPECTS", "NOT_ASKED", "Lack", "documented", "findings", "lacking", "lacks", "unnamed"]

_OF_BLOCKS = ("shapes", "dtypes", "errors")
#: public modules, and what their functions have to say
ASPECTS = {
    "tri": ("errors",),
    "tri.language": _OF_BLOCKS,
    "tri.language.math": _OF_BLOCKS,
    "tri.language.extra.libdevice": _OF_BLOCKS,
    "tri.serving": ("errors",),
    "tri.testing": ("errors",),
    "tri.tuning": ("errors",),
    "tri_gpu_dialect.layouts": ("errors",),
    "tri_runtime": ("errors",),
}
#: what a function is not asked for: those of compile time take and give functions, text or conditions, which have neither
#: shapes nor dtypes; some have nothing that could go wrong
NOT_ASKED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "tri.language.aggregate_replace",
            "tri.language.builtin",
            "tri.language.constexpr_function",
            "tri.language.debug_barrier",
            "tri.language.must_use_result",
            "tri.language.static_assert",
            "tri.language.static_print",
        ),
        ("shapes", "dtypes"),
    ),
    "tri_gpu_dialect.layouts.dim_names": ("errors",),
    "tri_runtime.null_pointer": ("errors",),
}
_WORDS = {
    "shapes": r"shapes?|ranks?|dimensions?|axis|axes|scalars?|element-?wise|elements?|broadcast|blocks?|tuple",
    "dtypes": r"dtypes?|types?|u?int(egers?|\d+)?|floats?|fp\d+\w*|bf16|bools?|bits?|bytes?|numbers?|constexprs?|pointers?|strings?|text",
    "errors": r"\w+Error|\w+Exception|raises?|refused?|errors|undefined|must|never fails",
}


@cache
def _says(aspect: str) -> re.Pattern[str]:
    words = _WORDS[aspect]
    if aspect == "errors":
        words = "|".join([words, *public_names("tri_core.errors")])
    return re.compile(rf"\b({words})\b")


Lack = tuple[str, str]  # a function's full name, and what its docstring does not say


def lacking(docstring: str, aspects: tuple[str, ...]) -> list[str]:
    """Those of ``aspects`` for which ``docstring`` has no word."""
    return [aspect for aspect in aspects if not _says(aspect).search(docstring)]


def unnamed(found: Sequence[Definition]) -> list[str]:
    """Arguments of the constructor of the class ``found`` (its stub, its source) that no docstring of it names."""
    text = "\n".join(filter(None, map(ast.get_docstring, found)))
    if re.search(r"\bmade by\b", text):
        return []
    return [name for each in found for name in _arguments(each) if not re.search(rf"\b{name}\b", text)]


def _arguments(definition: Definition) -> Iterator[str]:
    is_dataclass = any("dataclass" in ast.unparse(decorator) for decorator in definition.decorator_list)
    for node in definition.body:
        match node:
            case ast.FunctionDef(name="__init__", args=arguments):
                given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
                yield from (argument.arg for argument in given[1:])
            case ast.AnnAssign(target=ast.Name(id=name), annotation=type_) if is_dataclass:
                if not name.startswith("_") and "ClassVar" not in ast.unparse(type_):
                    yield name


def _names() -> Iterator[tuple[str, list[str]]]:
    """Every public function and class, and the aspects that its docstring lacks."""
    for module, aspects in ASPECTS.items():
        for name in public_names(module):
            found, full = list(definitions(module, name)), f"{module}.{name}"
            if found and isinstance(found[0], ast.FunctionDef):
                text = next(filter(None, map(ast.get_docstring, found)), "")
                left_out = NOT_ASKED.get(full, ())
                yield full, lacking(text, tuple(aspect for aspect in aspects if aspect not in left_out))
            elif found:
                yield full, [f"argument {argument}" for argument in unnamed(found)]


def lacks() -> list[Lack]:
    """Missing aspects in docstrings of public names."""
    return [(name, aspect) for name, missing in _names() for aspect in missing]


def documented() -> tuple[int, int]:
    """Number of public functions and classes whose docstrings are complete, and number of all."""
    complete = [not missing for _, missing in _names()]
    return sum(complete), len(complete)


def findings() -> list[str]:
    """A message for every aspect that a docstring lacks, and for every name of :data:`NOT_ASKED` that is no such function."""
    known = {name for name, _ in _names()}
    return [
        *(f"{name}: its docstring does not say its {aspect}" for name, aspect in lacks()),
        *(f"{name}: in NOT_ASKED, but no public function" for name in NOT_ASKED if name not in known),
    ]


if __name__ == "__main__":
    for finding in findings():
        print(finding)
