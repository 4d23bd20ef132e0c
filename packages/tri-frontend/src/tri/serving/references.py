"""Kernels by names that other processes know: the module and the qualified name, else the file."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

from tri.main_module import portable_name
from tri_core.errors import OptionError, TriError
from tri_core.foreign import Contained, describe
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri.jit import JITFunction
    from tri.kernel import Kernel

__all__ = ["Reference"]


@dataclass(frozen=True)
class Reference:
    """``name`` is ``module:qualname``; ``file``: where the module's source is."""

    name: str
    file: str

    @classmethod
    def of(cls, function: Kernel) -> Self:
        """The reference of ``function``; OptionError for one that a call makes, which no other process finds."""
        module, name = function.__module__, function.__qualname__
        if "<" in name:
            raise OptionError(
                f"kernel {name} is made by a call: no other process finds it by its name",
                remedy="define it at the top of a module",
            )
        return cls(f"{portable_name(module)}:{name}", function.source.file)

    def find(self) -> JITFunction:
        """The kernel, without what is around it (tuning, heuristics); OptionError where there is none."""
        from tri.jit import JITFunction

        module, _, path = self.name.partition(":")
        found: Any = self._module(module)
        for part in path.split("."):
            found = getattr(found, part, None)
        found = getattr(found, "base_fn", found)
        if isinstance(found, JITFunction):
            return found
        raise OptionError(f"{module} has no kernel {path!r}", remedy="record the program again")

    def _module(self, name: str) -> ModuleType:
        try:
            with Contained():
                try:
                    return importlib.import_module(name)
                except ModuleNotFoundError:
                    if not Path(self.file).is_file():
                        raise
                    return _from_file(Path(self.file), name)
        except TriError:
            raise
        except Exception as error:
            raise OptionError(
                f"{name} ({self.file}) cannot be imported: {describe(error)}",
                remedy="run where the program runs, with its packages and PYTHONPATH",
            ) from error


def _from_file(path: Path, name: str) -> ModuleType:
    """The module ``name`` in ``path``, a program's own file, which need not be on ``sys.path``."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise OptionError(f"{path} is no Python file", remedy="record the program again")
    module = importlib.util.module_from_spec(spec)
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module
