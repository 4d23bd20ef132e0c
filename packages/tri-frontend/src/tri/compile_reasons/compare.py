"""Differences between a compile and the nearest one before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tri.compile_reasons.picture import ASPECTS, Picture

__all__ = ["reasons"]

#: entries that sum up others: said only where nothing else differs
_SUMMARIES = {"everything it uses", "content of these packages"}


def reasons(picture: Picture, earlier: Sequence[Picture]) -> tuple[str, ...]:
    """Reasons that none of the ``earlier`` compiles matches: the differences to the nearest, the latest of
    these.
    """
    if not earlier:
        return ("it was never compiled before",)
    nearest = min(reversed(earlier), key=lambda other: len(_differences(picture, other)))
    found = _differences(picture, nearest)
    if not found:
        return (
            "the same was compiled before, but the cache does not have it any more (or was set not to look)",
        )
    return tuple(found)


def _differences(new: Picture, old: Picture) -> list[str]:
    plain: list[str] = []
    summed: list[str] = []
    for aspect, word in ASPECTS.items():
        before: Mapping[str, str] = getattr(old, aspect)
        after: Mapping[str, str] = getattr(new, aspect)
        for name in dict.fromkeys([*after, *before]):
            if after.get(name) == before.get(name):
                continue
            if aspect in ("arguments", "constants") and _became(new, old, name) is not None:
                if aspect == "arguments":
                    continue  # said once, with the constants
                line = _became(new, old, name) or ""
            else:
                line = _line(word, name, before.get(name), after.get(name))
            (summed if name in _SUMMARIES else plain).append(line)
    return plain or summed


def _became(new: Picture, old: Picture, name: str) -> str | None:
    """An argument that was folded into the code in one of the two (None, or an integer that is 1)."""
    if name in new.constants and name in old.arguments:
        return f"argument {name!r} is the constant {new.constants[name]}, it was {old.arguments[name]}"
    if name in new.arguments and name in old.constants:
        return f"argument {name!r} is {new.arguments[name]}, it was the constant {old.constants[name]}"
    return None


def _line(word: str, name: str, before: str | None, after: str | None) -> str:
    subject = f"{word} {name!r}" if word not in ("source", "target") else name
    if word == "source" or name in _SUMMARIES:
        is_text = name.startswith("global ")
        return f"{subject} changed{f' from {before} to {after}' if is_text and before and after else ''}"
    return f"{subject} is {_or_absent(after)}, it was {_or_absent(before)}"


def _or_absent(text: str | None) -> str:
    return text if text is not None else "not set"
