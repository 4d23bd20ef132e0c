"""``docs/language.md``, from Triton's names, the states of their probes, and the reasons for gaps."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from integration.language.names import HERE, find, reference, signature
from integration.language.probing import BACKENDS, YES

__all__ = ["DOCUMENT", "read_states", "render", "write_states"]

DOCUMENT = HERE.parents[1] / "docs" / "language.md"
_INTRODUCTION = """# The language, name by name

Every public name of `triton`, `triton.testing`, `triton.language` and its submodules in Triton 3.9, and what becomes of
it here (`tl` is `tri.language`). Written by `nox -s language`; `integration/tests/test_names.py` says when it is out of date.

*cpu* and *interpreter*: a probe of the name (`integration/language/probes.toml`) ran. *nvidia* (sm_90a), *amd* (gfx942),
*intel* (pvc): it compiled to the device's code. *host*: the name is there and is used outside of kernels. Where a
state is **no**, the last column has what the error said, or why the name is absent.
"""
_TITLES = {
    "triton": "`triton` (here `tri`)", "triton.testing": "`triton.testing` (here `tri.testing`)", "tl": "`triton.language`",
    "tl.tensor": "`tl.tensor`: methods and operators", "tl.dtype": "`tl.dtype`: attributes",
    "tl.tensor_descriptor": "`tl.tensor_descriptor`",
}  # fmt: skip


def _state_file(backend: str) -> Path:
    return HERE / "states" / f"{backend}.toml"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def write_states(backend: str, states: dict[str, str]) -> None:
    """Keep what the probes gave."""
    path = _state_file(backend)
    path.parent.mkdir(exist_ok=True)
    lines = [f"{_quoted(name)} = {_quoted(state)}" for name, state in states.items()]
    path.write_text(f"# what the probes gave on {BACKENDS[backend]}\n" + "\n".join(lines) + "\n")


def read_states(backend: str) -> dict[str, str]:
    """Results of the probes when they were last run."""
    path = _state_file(backend)
    return dict(tomllib.loads(path.read_text())) if path.exists() else {}


def _row(section: str, name: str, shown: str, states: dict[str, dict[str, str]], reason: str) -> str:
    full = f"{section}.{name}"
    notes = [reason] if reason else []
    if find(section, name) is None:
        cells = ["no"] * len(BACKENDS)
        notes = notes or ["**unexplained**"]
    elif full not in states["cpu"]:
        cells = ["host"] * len(BACKENDS)
    else:
        cells = ["yes" if states[b].get(full) == YES else "**no**" for b in BACKENDS]
        said: dict[str, list[str]] = {}
        for backend in BACKENDS:
            state = states[backend].get(full, "not probed")
            if state != YES:
                said.setdefault(state, []).append(backend)
        notes += [f"{', '.join(where)}: {what}" for what, where in said.items()]
    text = "; ".join(notes).replace("|", "\\|")
    signature_text = shown if shown.startswith("(") else ""
    label = f"`{name}{signature_text}`".replace("|", "\\|")
    return f"| {label} | {' | '.join(cells)} | {text} |"


def _difference(section: str, name: str, shown: str) -> str:
    """A note on parameters that are not Triton's."""
    if section in ("tl.extra.libdevice", "tl.tensor", "tl.target_info") or not shown.startswith("("):
        return ""
    value = find(section, name)
    ours = signature(value) if value is not None else None
    if ours is None or ours == shown or _plain(ours) == _plain(shown):
        return ""
    return f"here `{ours}`"


def _plain(text: str) -> str:
    for old, new in (
        ("constexpr[", ""),
        ("]", ""),
        ("PROPAGATE_NAN", "PropagateNan"),
        (": 0>", ""),
        ("<", ""),
    ):
        text = text.replace(old, new)
    return text


def render() -> str:
    """The document's text."""
    states = {backend: read_states(backend) for backend in BACKENDS}
    reasons = tomllib.loads((HERE / "reasons.toml").read_text())
    return "\n".join(_lines(states, reasons)) + "\n"


def _lines(states: dict[str, dict[str, str]], reasons: dict[str, dict[str, str]]) -> Iterator[str]:
    yield _INTRODUCTION
    for section, names in reference().items():
        yield f"## {_TITLES.get(section, f'`{section}`')}\n"
        yield f"| name | {' | '.join(BACKENDS)} | notes |"
        yield "| --- |" + " --- |" * (len(BACKENDS) + 1)
        for name, shown in names.items():
            reason = _difference(section, name, shown)
            if find(section, name) is None:  # a reason may outlive what it explains
                reason = reasons.get(section, {}).get(name, "")
            yield _row(section, name, shown, states, reason)
        yield ""
