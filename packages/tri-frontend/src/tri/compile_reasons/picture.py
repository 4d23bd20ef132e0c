"""A compile as it is remembered: everything that its key depends on, in words."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from tri.kernel import Kernel
from tri_core import knobs
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri.language.types import dtype
    from tri_core.compiler import Attempt

__all__ = ["ASPECTS", "CompiledSource", "Picture"]

#: field of a picture -> what a message calls an entry of it
ASPECTS: dict[str, str] = {
    "source": "source",
    "arguments": "argument",
    "constants": "constant",
    "options": "option",
    "target": "target",
    "knobs": "knob",
    "versions": "package",
}


@runtime_checkable
class CompiledSource(Protocol):
    """Source of a kernel, as a protocol: :class:`tri.ASTSource`."""

    fn: Kernel
    name: str
    types: dict[str, dtype]
    constants: dict[str, Any]
    attrs: dict[str, tuple[tuple[str, Any], ...]]

    def type_texts(self) -> Mapping[str, str]:
        """Type of each parameter, as the signature has it."""
        ...


@dataclass(frozen=True)
class Picture:
    """One compile; every field that :data:`ASPECTS` names maps names to texts."""

    kernel: str
    when: float
    source: Mapping[str, str]
    arguments: Mapping[str, str]
    constants: Mapping[str, str]
    options: Mapping[str, str]
    target: Mapping[str, str]
    knobs: Mapping[str, str]
    versions: Mapping[str, str]

    @classmethod
    def of(cls, attempt: Attempt, source: CompiledSource) -> Self:
        """The compile in ``attempt``."""
        from tri_core.compiler import environment_of
        from tri_core.plugins import manager

        target = attempt.target
        composition = manager().compose(target, attempt.options)
        return cls(
            kernel=source.name,
            when=time.time(),
            source=_source(source.fn),
            arguments={name: _argument(source, name) for name in source.types},
            constants={name: repr(value) for name, value in source.constants.items()},
            options={name: repr(value) for name, value in attempt.options.to_json().items()},
            target={"target": str(target)},
            knobs={name: str(value) for name, value in knobs.codegen_snapshot().items()},
            versions={
                **manager().versions(target, composition),
                "content of these packages": environment_of(target)[:12],
            },
        )

    def title(self) -> str:
        """Kernel, target, arguments and time, in one line."""
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.when))
        given = ", ".join(f"{n}: {t}" for n, t in self.arguments.items())
        fixed = ", ".join(f"{n}={t}" for n, t in self.constants.items())
        return f"{when} {self.kernel}({', '.join(filter(None, (given, fixed)))}) for {self.target['target']}"

    def to_json(self) -> dict[str, Any]:
        """As JSON-able data."""
        return {name: _plain(value) for name, value in vars(self).copy().items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`to_json`; TypeError for data of another version."""
        return cls(**data)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def _argument(source: CompiledSource, name: str) -> str:
    """The type of a run-time argument with what it is specialized on."""
    facts = "".join(
        f", divisible by {value}" if fact == "tt.divisibility" else f", {fact} = {value}"
        for fact, value in source.attrs.get(name, ())
    )
    return f"{source.type_texts()[name]}{facts}"


def _source(function: Kernel) -> dict[str, str]:
    """The function's own text and what it uses, each as a short hash or a short text."""
    from tri.dependencies import used_values

    found = {"text of the function": _digest(function.src), "everything it uses": function.cache_key[:12]}
    for name, value in used_values(function):
        if isinstance(value, Kernel):
            found[f"function {name}"] = value.cache_key[:12]
        else:
            text = repr(value)
            found[f"global {name}"] = text if len(text) <= 40 else _digest(text)
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(json.dumps(text).encode()).hexdigest()[:12]
