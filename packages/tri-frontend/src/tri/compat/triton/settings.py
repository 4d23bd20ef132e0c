"""Triton's settings as its programs see them: attributes that an assignment, else an environment variable, else a default gives.

A knob of a group is a descriptor (``env_bool("TRITON_DEBUG")``).  An assigned value is kept in the group and, unless
``triton.knobs.propagate_env`` is False, written to the environment for processes that this one starts.  Deleting it, or
assigning ``triton.knobs.env``, goes back to the environment.  Settings that mean nothing on tri are kept all the same,
and named once in the log.
"""

from __future__ import annotations

import functools
import importlib
import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from tri_core import knobs
from tri_core.errors import Unsupported
from tri_core.lazy_dataclasses import dataclass

__all__ = [
    "CompileTimes",
    "Env",
    "NvidiaTool",
    "base_knobs",
    "env",
    "env_base",
    "env_bool",
    "env_class",
    "env_int",
    "env_nvidia_tool",
    "env_opt_bool",
    "env_opt_str",
    "env_str",
    "env_str_callable_default",
    "getenv",
    "getenv_bool",
    "note",
    "setenv",
    "toenv",
]

logger = logging.getLogger(__name__)

_TRUE = frozenset({"1", "on", "true", "y", "yes"})
_NONE: Any = object()
#: variables of which the log has been told
_noted: set[str] = set()


class Env:
    """The type of :data:`env`."""


#: assigned to a knob: go back to the environment
env = Env()


def getenv(key: str, default: str | None = None) -> str | None:
    """The text of variable ``key``; an empty one is not set."""
    return os.environ.get(key) or default


def getenv_bool(key: str, default: Any = False) -> Any:
    """True if variable ``key`` is 1, on, true, y or yes in any case; ``default`` if it is not set."""
    text = getenv(key)
    return default if text is None else text.lower() in _TRUE


def setenv(key: str, value: str | None) -> None:
    """Write variable ``key``, None to take it out; nothing while ``triton.knobs.propagate_env`` is False."""
    if not getattr(sys.modules.get("triton.knobs"), "propagate_env", True):
        return
    if value is None:
        os.environ.pop(key, None)
    else:
        os.environ[key] = value


def toenv(val: Any) -> tuple[str | None] | None:
    """``val`` as a variable's text, in a tuple; None for what no text stands for."""
    if val is None:
        return (None,)
    if isinstance(val, bool):
        return ("1" if val else "0",)
    return (str(val),) if isinstance(val, (str, int)) else None


def note(variable: str) -> None:
    """Say, once, that ``variable`` means nothing here."""
    if variable not in _noted:
        _noted.add(variable)
        logger.warning("%s is a setting of Triton that has no effect on tri", variable)


class env_base:
    """A knob: ``key`` is its variable.

    ``knob``: tri's setting of the same meaning, whose value is the default; ``inverse``: of the opposite one.
    ``effect``: whether it means something on tri; ``refused``: what to do instead of setting it, where a program that
    sets it would get something else than it asks for.
    """

    def __init__(
        self,
        key: str,
        default: Any = None,
        *,
        knob: str = "",
        inverse: bool = False,
        effect: bool = False,
        refused: str = "",
    ) -> None:
        self.key = key
        self.default = default
        self.knob = knob
        self.inverse = inverse
        self.effect = effect or bool(knob)
        self.refused = refused
        self.name = ""

    def __set_name__(self, objclass: type, name: str) -> None:
        self.name = name

    def __get__(self, obj: Any, objclass: type | None = None) -> Any:
        value = _NONE if obj is None else vars(obj).get(self.name, _NONE)
        return self.get() if value is _NONE else self.transform(value)

    def __set__(self, obj: Any, value: Any) -> None:
        if isinstance(value, Env):
            self.__delete__(obj)
            return
        if value not in (None, self.get()):
            if self.refused:
                raise Unsupported(
                    f"triton.knobs.{type(obj).__name__.removesuffix('_knobs')}.{self.name} = {value!r} has no effect on tri",
                    remedy=self.refused,
                )
            if not self.effect:
                note(self.key)
        vars(obj)[self.name] = value
        text = toenv(value)
        if text is not None:
            setenv(self.key, text[0])
        knobs.changed()

    def __delete__(self, obj: Any) -> None:
        vars(obj).pop(self.name, None)
        knobs.changed()

    def get(self) -> Any:
        """The value by the environment."""
        text = getenv(self.key)
        if text is not None:
            return self.read(text)
        if not self.knob:
            return self.default
        value = knobs.get(self.knob)
        return not value if self.inverse else value

    def said(self, obj: Any) -> Any:
        """Value from an assignment or the environment; None if neither sets it."""
        if self.name in vars(obj):
            return vars(obj)[self.name]
        text = getenv(self.key)
        return None if text is None else self.read(text)

    def read(self, text: str) -> Any:
        """Value of the variable's ``text``."""
        return text

    def transform(self, val: Any) -> Any:
        """Value that a program reads after it has assigned ``val``."""
        return val


class env_str(env_base):
    """A text."""


class env_opt_str(env_base):
    """A text, or None."""


class env_str_callable_default(env_base):
    """A text whose default is computed when it is asked for."""

    def get(self) -> Any:
        """The value by the environment."""
        text = getenv(self.key)
        return self.default() if text is None else text


class env_bool(env_base):
    """Yes or no."""

    def __init__(self, key: str, default: Any = False, **more: Any) -> None:
        super().__init__(key, default, **more)

    def read(self, text: str) -> bool:
        """True if ``text`` means yes."""
        return text.lower() in _TRUE


class env_opt_bool(env_bool):
    """Yes, no, or None."""

    def __init__(self, key: str, default: Any = None, **more: Any) -> None:
        super().__init__(key, default, **more)


class env_int(env_base):
    """A number."""

    def __init__(self, key: str, default: int = 0, **more: Any) -> None:
        super().__init__(key, default, **more)

    def read(self, text: str) -> int:
        """The number; RuntimeError for another text."""
        try:
            return int(text)
        except ValueError as error:
            raise RuntimeError(f"Unable to use {self.key}={text}: expected int") from error


class env_class(env_base):
    """A class, written ``module:Class``, that has one of the name ``type`` among its bases."""

    def __init__(self, key: str, type: str, **more: Any) -> None:
        super().__init__(key, None, **more)
        self.type = type

    def read(self, text: str) -> Any:
        """The class; RuntimeError for another text, and for a class without that base."""
        module, found, name = text.partition(":")
        if not found:
            raise RuntimeError(f"Unable to read {self.key}: {text!r} isn't of the form MODULE:CLASS")
        made = getattr(importlib.import_module(module), name)
        if self.type not in (base.__name__ for base in made.__mro__):
            raise RuntimeError(f"Unable to use {text!r} from {self.key}: not of type {self.type!r}")
        return made


@dataclass(frozen=True)
class NvidiaTool:
    """A program of a toolkit, and its version (``12.8``)."""

    path: str
    version: str

    @staticmethod
    @functools.cache
    def from_path(path: str) -> NvidiaTool | None:
        """The tool at ``path``; None where there is none that says its release."""
        try:
            said = subprocess.run(
                [path, "--version"], capture_output=True, text=True, check=True, timeout=60
            ).stdout
        except (OSError, subprocess.SubprocessError):
            return None
        found = re.search(r"release (\d+\.\d+)", said)
        return None if found is None else NvidiaTool(path, found.group(1))


class env_nvidia_tool(env_base):
    """A tool: its path is assigned or in the environment, else the one that the backend uses, else that of ``PATH``.

    ``knob``: the setting of tri that has the tool's path.
    """

    def __init__(self, binary: str, knob: str = "") -> None:
        super().__init__(f"TRITON_{binary.upper().replace('-', '_')}_PATH", knob=knob)
        self.binary = binary

    def get(self) -> NvidiaTool:
        """The tool; RuntimeError where there is none."""
        return self.transform(getenv(self.key))

    def transform(self, val: Any) -> NvidiaTool:
        """The tool at ``val``, else the one in use."""
        for path in (val, self._own(), shutil.which(self.binary)):
            tool = None if path is None else NvidiaTool.from_path(str(path))
            if tool is not None:
                return tool
        raise RuntimeError(f"Cannot find {self.binary}")

    def read(self, text: str) -> str:
        """The path."""
        return text

    def _own(self) -> Any:
        from tri_core.errors import OptionError, ToolchainError

        try:
            return knobs.in_force(self.knob) if self.knob else None
        except (OptionError, ToolchainError):  # no such backend, no such tool
            return None

    def __set__(self, obj: Any, value: Any) -> None:
        vars(obj)[self.name] = value
        if isinstance(value, Env):
            self.__delete__(obj)
        elif isinstance(value, str):
            setenv(self.key, value)
        knobs.changed()


class base_knobs:
    """A group of knobs."""

    @property
    def knob_descriptors(self) -> dict[str, env_base]:
        """The knobs by name."""
        return {name: knob for name, knob in vars(type(self)).copy().items() if isinstance(knob, env_base)}

    @property
    def knobs(self) -> dict[str, Any]:
        """The values by name."""
        return {name: getattr(self, name) for name in self.knob_descriptors}

    def copy(self) -> Self:
        """Another group with the same assignments."""
        made = type(self)()
        vars(made).update(vars(self))
        return made

    def reset(self) -> Self:
        """Forget the assignments of knobs."""
        for name in self.knob_descriptors:
            delattr(self, name)
        return self

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Undo, at the end of the ``with`` block, all that was assigned inside of it."""
        variables = {knob.key: os.environ.get(knob.key) for knob in self.knob_descriptors.values()}
        before = self._state()
        try:
            yield
        finally:
            self._restore(before)
            for key, value in variables.items():
                if value is None:
                    os.environ.pop(key, None)
                else:
                    os.environ[key] = value
            knobs.changed()

    def _state(self) -> dict[str, Any]:
        return dict(vars(self))

    def _restore(self, state: dict[str, Any]) -> None:
        vars(self).clear()
        vars(self).update(state)


@dataclass(frozen=True)
class CompileTimes:
    """Times of a compile, in microseconds: making the module, each stage, keeping the result."""

    ir_initialization: int
    lowering_stages: list[tuple[str, int]]
    store_results: int

    @property
    def total_lowering(self) -> int:
        """Of all stages."""
        return sum(duration for _, duration in self.lowering_stages)

    @property
    def total(self) -> int:
        """Of everything."""
        return self.ir_initialization + self.total_lowering + self.store_results
