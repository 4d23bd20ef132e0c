"""Figures of the repository: what each of them counts, and that they are counted on the repository itself."""

from __future__ import annotations

import ast

import pytest

from integration.count_house.__main__ import main
from integration.count_house.docstrings import questions
from integration.count_house.ops import name_tests, named_ops, operand_subscripts
from integration.count_house.rows import ROWS, House, Row

TEXT = '''
"""How a module is counted."""

@rule("arith.addi")
def added(make, op):
    """Sum of both operands."""
    left = op.operands[0]
    if op.name == "arith.addi" or op.name.startswith("tt.") or op.name == "x":
        return make("arith.muli", left)
    return make(AddIOp, left)
'''


def test_docstrings_that_open_with_a_question_word() -> None:
    assert list(questions(ast.parse(TEXT))) == [(2, "How a module is counted.")]


def test_ops_by_string_name_and_number() -> None:
    tree = ast.parse(TEXT)
    assert [ast.unparse(node) for node in named_ops(tree)] == ["make('arith.muli', left)"]
    assert [ast.unparse(node) for node in name_tests(tree)] == [
        "op.name == 'arith.addi'",
        "op.name.startswith('tt.')",
    ]
    assert [ast.unparse(node) for node in operand_subscripts(tree)] == ["op.operands[0]"]


@pytest.fixture(scope="module")
def house() -> House:
    return House.here()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_each_figure_is_no_worse_than_held(row: Row, house: House) -> None:
    found = row.count(house)
    assert found.value > 0 or row.held == 0
    if row.held is not None:
        worse = found.value < row.held if row.rises else found.value > row.held
        assert not worse, (
            f"{row.what}: {found.value}, held at {row.held}: python -m integration.count_house --list {row.key}"
        )


def test_the_places_of_a_row_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "lines"]) == 0
    assert "tri-core: " in capsys.readouterr().out
