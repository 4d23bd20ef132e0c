"""Docstrings that open with a question word: they say a riddle before the thing."""

from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ["WORDS", "questions"]

WORDS = frozenset({"What", "Whether", "How", "Where", "Who", "Whose", "Which", "Why", "When"})


def questions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and first line of each docstring of ``tree`` that opens with one of ``WORDS``."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        text = ast.get_docstring(node) or ""
        if text.split(maxsplit=1)[:1] and text.split(maxsplit=1)[0] in WORDS:
            yield node.body[0].lineno, text.splitlines()[0]
