"""The lint of words: what it finds, and what it leaves."""

from __future__ import annotations

import pytest

from integration.lints.words import WORDS, private_words


@pytest.mark.parametrize(
    "line",
    [
        "# the matrix product of two blocks",
        "def delay_dots(module):",
        'PASSES = ["meet-before-dots"]',
        '"""The warps that multiply and all threads meet here."""',
        "the slot is given back",
        "loads are rubbish until then",
        "def _told(op):",
        "told = []",
        "from x import ring_sides",
        "class Teams: teams = 4",
    ],
)
def test_private_words_are_found(line: str) -> None:
    ((number, message),) = list(private_words("packages/a.py", line))
    assert number == 1
    assert message.split("say ")[1] in WORDS.values()


@pytest.mark.parametrize(
    "line",
    [
        "for a, b in itertools.product(x, y):",
        "former_names = ('delay-dots',)",
        "tl.sum(x, axis=0)",
        "@dataclass(slots=True)",
        "a fault is told apart from a race",
        "Python turns an AttributeError into an ImportError",
        "the values meet at run time",
    ],
)
def test_the_fields_own_words_are_left(line: str) -> None:
    assert list(private_words("packages/a.py", line)) == []


def test_names_of_files_are_looked_at() -> None:
    assert [number for number, _ in private_words("packages/x/overlap_dots.py", "pass")] == [0]
