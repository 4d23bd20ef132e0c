"""Compile options: what a user may say about one compilation.

A backend extends :class:`CommonOptions` with fields of its own; options are frozen and hashable, and
their JSON enters every cache key.
"""

from __future__ import annotations

import dataclasses
import difflib
import typing
import warnings
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, Self

from tri_core.errors import OptionError
from tri_core.extern_libraries import checked_libraries
from tri_core.lazy_dataclasses import dataclass

__all__ = ["CommonOptions"]


#: values that nothing can change
_PLAIN = frozenset({int, str, bool, float, type(None)})
_hints_of: dict[type, dict[str, Any]] = {}


def _hints(options: type) -> dict[str, Any]:
    """The field types of a class of options; resolving them takes 40 us, so it is done once."""
    found = _hints_of.get(options)
    if found is None:
        hints = typing.get_type_hints(options)
        found = _hints_of[options] = {field.name: hints[field.name] for field in dataclasses.fields(options)}
    return found


@dataclass(frozen=True, kw_only=True)
class CommonOptions:
    """Options that every backend understands (Triton's names and defaults).

    ``debug``: assertions are kept, and with ``sanitize_overflow`` integers of fewer than 64 bits are asserted not to
    overflow, and a backend may check more (:attr:`is_checked`).  ``debug`` without ``sanitize_overflow`` is the program's own
    assertions and nothing else, on every target: PyTorch's Inductor compiles every kernel so.
    """

    #: names that options had in the version before -> their names; understood, with a DeprecationWarning
    former_names: ClassVar[Mapping[str, str]] = {}

    num_warps: int = 4
    num_stages: int = 3
    num_ctas: int = 1
    debug: bool = False
    sanitize_overflow: bool = True
    enable_fp_fusion: bool = True
    default_dot_input_precision: str = "ieee"
    #: a file, ``kernel.ttgir`` say, that replaces what the stage of its suffix makes
    ir_override: str = ""
    #: libraries that the kernel's functions are linked from, ``{name: path}``; kept with digests of their content
    extern_libs: tuple[tuple[str, str, str], ...] = ()

    @property
    def is_checked(self) -> bool:
        """True if the compiler adds checks of integers and accesses to the program's own assertions."""
        return self.debug and self.sanitize_overflow

    def __post_init__(self) -> None:
        if self.extern_libs or self.extern_libs is None:
            object.__setattr__(self, "extern_libs", checked_libraries(self.extern_libs))
        for name in ("num_warps", "num_ctas"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1 or value & (value - 1):
                raise OptionError(
                    f"{name} is {value!r}; it must be a power of 2", remedy=f"pass {name}=4, say"
                )
        if not isinstance(self.num_stages, int) or self.num_stages < 0:
            raise OptionError(f"num_stages is {self.num_stages!r}; an integer of at least 0 is expected")

    @classmethod
    def parse(cls, given: Mapping[str, Any] | None, ignored: Collection[str] = ()) -> Self:
        """Options from keyword arguments; an unknown or mistyped one is an :class:`OptionError`.

        ``ignored``: further names, which are left out.
        """
        hints = _hints(cls)
        given = {
            cls._current_name(name): value
            for name, value in (given or {}).items()
            if name in hints or name not in ignored
        }
        # a switch that is None asks for nothing
        given = {name: v for name, v in given.items() if v is not None or hints.get(name) is not bool}
        for name, value in given.items():
            if name not in hints:
                near = difflib.get_close_matches(name, [*hints, *ignored])
                raise OptionError(
                    f"unknown option {name!r}",
                    remedy=f"did you mean {', '.join(near)}?"
                    if near
                    else f"known: {', '.join(sorted(hints))}",
                )
            expected = hints[name]
            if isinstance(expected, type) and not isinstance(value, expected):
                raise OptionError(f"option {name} is {value!r}; {expected.__name__} is expected")
        return cls(**given)

    @classmethod
    def _current_name(cls, name: str) -> str:
        """Name of the option ``name`` in this version."""
        current = cls.former_names.get(name)
        if current is None:
            return name
        warnings.warn(f"option {name!r} is called {current!r}", DeprecationWarning, stacklevel=3)
        return current

    def to_json(self) -> dict[str, Any]:
        """The options as a JSON-able dictionary, in field order."""
        values = {name: getattr(self, name) for name in _hints(type(self))}
        # asdict copies every value: of plain ones there is nothing to copy, and a key is made of them at every first launch
        is_plain = all(type(v) in _PLAIN or v == () for v in values.values())
        return values if is_plain else dataclasses.asdict(self)
