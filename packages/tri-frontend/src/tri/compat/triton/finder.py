"""The modules that stand in for Triton's, and the finder that imports them."""

from __future__ import annotations

import dis
import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterable, Sequence
from email.message import Message
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any

from tri.compat.triton.table import EXTRA, GLUON, GONE, MODULES, Module, gluon_part, vendor
from tri.compat.triton.versions import REPORTED

__all__ = ["Finder", "StandIn"]

_IMPORT_FROM = dis.opmap["IMPORT_FROM"]


class StandIn(ModuleType):
    """A module of Triton's name whose names are tri's, looked up when asked for and then kept."""

    __tri_module__: Module

    def __getattr__(self, name: str) -> Any:
        row = self.__tri_module__
        if name in row.refused:
            raise self._missing(name, row.refused[name])
        if name in row.names:
            value = load(row.names[name])
        elif name == "__file__":
            value = _file(row)
        elif name in row.modules:
            value = importlib.import_module(row.modules[name])
        elif row_of(f"{self.__name__}.{name}") is not None:
            return importlib.import_module(f"{self.__name__}.{name}")
        elif name.startswith("__") and name not in _FORWARDED:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        else:
            value = self._search(name)
        if name not in row.live:
            setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        row = self.__dict__.get("__tri_module__")
        if row is not None and row.replaced:
            load(row.replaced)(name, value)

    def _search(self, name: str) -> Any:
        for source in self.__tri_module__.sources:
            try:
                return getattr(load(source), name)
            except (AttributeError, ModuleNotFoundError):
                continue
        advice = self.__tri_module__.advice
        raise self._missing(name, advice or f"tri has no {name}; see docs/compat.md for what stands in")

    def _missing(self, name: str, advice: str) -> Exception:
        message = f"{self.__name__}.{name}: {advice}"
        # Python turns an AttributeError of `from module import name` into an ImportError without its message
        if _is_import_from(sys._getframe(1)):
            return ImportError(message, name=self.__name__)
        return AttributeError(message, name=name, obj=self)

    def __dir__(self) -> Iterable[str]:
        row = self.__tri_module__
        names = set(vars(self)) | set(row.names) | set(row.modules)
        for source in row.sources:
            try:
                module = load(source)
            except (AttributeError, ModuleNotFoundError):
                continue
            names |= set(getattr(module, "__all__", ())) or {n for n in dir(module) if n[0] != "_"}
        return sorted(names)


def _file(row: Module) -> str:
    """The file of the module that ``row`` stands for here, or of the package that all of them are in."""
    for path in (*row.sources, __package__):
        spec = importlib.util.find_spec(path) if ":" not in path else None
        if spec is not None and spec.has_location and spec.origin is not None:
            return spec.origin
    raise AttributeError("__file__")


#: special names that the language's module answers itself
_FORWARDED = frozenset({"__later__", "__all__"})


def _is_import_from(frame: FrameType | None) -> bool:
    """True if the innermost frame outside of this module is at ``from ... import ...``."""
    while frame is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return frame is not None and frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM


def load(path: str) -> Any:
    """``package.module``, or ``package.module:attribute.attribute``."""
    module, _, attributes = path.partition(":")
    value: Any = importlib.import_module(module)
    for attribute in filter(None, attributes.split(".")):
        value = getattr(value, attribute)
    return value


def row_of(name: str) -> Module | None:
    """The row of the table for module ``name``, or of what a plugin adds to the language; None without."""
    if name in MODULES:
        return MODULES[name]
    if name.startswith(f"{GLUON}."):
        return gluon_part(name.removeprefix(f"{GLUON}."))
    if not name.startswith(f"{EXTRA}."):
        return None
    from tri_core.plugins import manager

    namespace = name.removeprefix(f"{EXTRA}.").partition(".")[0]
    known = any(extension.namespace == namespace for extension in manager().languages())
    return vendor(namespace).get(name) if known else None


class Finder(importlib.metadata.DistributionFinder):
    """Finds ``triton`` and its submodules, and says which version of it is installed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module of the table; ModuleNotFoundError with advice for one that is gone."""
        del path, target
        if row_of(fullname) is not None:
            return ModuleSpec(fullname, _LOADER, origin="tri.compat.triton", is_package=True)
        if fullname in GONE:
            raise ModuleNotFoundError(f"No module named {fullname!r}: {GONE[fullname]}", name=fullname)
        return None

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context | None = None
    ) -> Iterable[importlib.metadata.Distribution]:
        """The distribution ``triton`` itself, for code that asks for its version."""
        if context is not None and context.name in ("triton", None):
            yield _Distribution()


class _Loader:
    """Makes a stand-in; there is nothing to execute."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = StandIn(spec.name, f"tri, under the name of {spec.name}.")
        row = row_of(spec.name)
        assert row is not None
        module.__tri_module__ = row
        return module

    def exec_module(self, module: Any) -> None:
        row: Module = module.__tri_module__
        for name, value in row.values.items():
            setattr(module, name, value)
        if row.replaced:
            for name in dir(module):
                getattr(module, name)


_LOADER: Any = _Loader()


class _Distribution(importlib.metadata.Distribution):
    """Distribution metadata of ``triton`` for ``importlib.metadata`` while the stand-in is installed."""

    def read_text(self, filename: str) -> str | None:
        if filename == "METADATA":
            message = Message()
            message["Metadata-Version"], message["Name"], message["Version"] = "2.1", "triton", REPORTED.text
            return message.as_string()
        return None

    def locate_file(self, path: Any) -> Any:
        from pathlib import Path

        return Path(__file__).parent / path
