"""Every pass has a page, and the pages are what ``python -m integration.pass_pages`` makes now."""

from __future__ import annotations

from integration.pass_pages import EXAMPLES, FOLDER, excerpts, pages


def test_pages_are_current() -> None:
    made = dict(pages())
    stale = [
        name
        for name, text in made.items()
        if not (FOLDER / name).exists() or (FOLDER / name).read_text() != text
    ]
    assert not stale, f"run `python -m integration.pass_pages`: {stale}"
    assert {p.name for p in FOLDER.glob("*.md")} == set(made)


def test_every_pass_has_an_example() -> None:
    assert {f"{name}.md" for name in EXAMPLES} == set(dict(pages())) - {"README.md"}


def test_every_example_is_used() -> None:
    assert {p.stem for p in (FOLDER / "examples").glob("*.mlir")} == {e.file for e in EXAMPLES.values()}


def test_excerpts_show_what_differs_and_little_else() -> None:
    same = [f"    %{i} = arith.addi %a, %b : i{i}" for i in range(200)]
    before = ["tt.func @f", *same[:100], "    %x = tt.load %p : i1", *same[100:]]
    after = [
        "tt.func @f",
        *same[:100],
        "    %y = tt.load %q {late} : i1",
        *(s.replace("%a", "%c") for s in same[100:]),
    ]
    old, new = excerpts("\n".join(before), "\n".join(after))
    assert "tt.load %p" in old
    assert "tt.load %q {late}" in new
    assert len(old.splitlines()) == len(new.splitlines()) == 6
