"""Docstrings of public functions give shapes, dtypes and errors: ``python -m integration.lints.docstrings`` lists those that don't.

Of functions of the language: words for shapes, for dtypes and for errors; of others: for errors.  Those that lack some are
counted, and the counts may only fall: :data:`BUDGET` is what they are.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from integration.website.reference import definitions, public_names

__all__ = ["BUDGET", "Lack", "documented", "lacking", "lacks", "off_budget"]

#: functions that do not say it, by what they do not say: may be lowered, never raised
BUDGET = {"shapes": 58, "dtypes": 51, "errors": 115}

#: public modules, and what their functions have to say
ASPECTS = {"tri.language": ("shapes", "dtypes", "errors"), "tri": ("errors",)}
_WORDS = {
    "shapes": r"shapes?|ranks?|dimensions?|axis|axes|scalars?|element-?wise|elements?|broadcast|blocks?|tuple",
    "dtypes": r"dtypes?|types?|u?int(egers?|\d+)?|floats?|fp\d+\w*|bf16|bools?|bits?|bytes?|numbers?|constexprs?|pointers?|strings?|text",
    "errors": r"\w*Errors?|raises?|refused|must|undefined|wrong|wraps?|overflows?|NaN|\w*Exception|\w*Refused|never fails|anything",
}
_SAYS = {aspect: re.compile(rf"\b({words})\b") for aspect, words in _WORDS.items()}

Lack = tuple[str, str]  # a function's full name, and what its docstring does not say


def lacking(docstring: str, aspects: tuple[str, ...]) -> list[str]:
    """Those of ``aspects`` for which ``docstring`` has no word."""
    return [aspect for aspect in aspects if not _SAYS[aspect].search(docstring)]


def _functions() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Every public function's name, docstring (empty if it has none) and what it has to say."""
    for module, aspects in ASPECTS.items():
        for name in public_names(module):
            found = list(definitions(module, name))
            if found and isinstance(found[0], ast.FunctionDef):
                docstrings = filter(None, map(ast.get_docstring, found))
                yield f"{module}.{name}", next(docstrings, ""), aspects


def lacks() -> list[Lack]:
    """Missing aspects in docstrings of public functions."""
    return [(name, aspect) for name, text, aspects in _functions() for aspect in lacking(text, aspects)]


def documented() -> tuple[int, int]:
    """Number of public functions whose docstrings are complete, and number of all."""
    complete = [not lacking(text, aspects) for _, text, aspects in _functions()]
    return sum(complete), len(complete)


def off_budget(found: list[Lack]) -> list[str]:
    """A message for every aspect whose count in ``found`` is not the budget's: a count that has fallen is the new budget."""
    counts = Counter(aspect for _, aspect in found)
    return [
        f"docstrings: {counts[aspect]} public functions do not say their {aspect}, {budget} are allowed: "
        + ("say them" if counts[aspect] > budget else "lower BUDGET of integration/lints/docstrings.py")
        for aspect, budget in BUDGET.items()
        if counts[aspect] != budget
    ]


if __name__ == "__main__":
    for name, aspect in lacks():
        print(f"{name}: {aspect}")
