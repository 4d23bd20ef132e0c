# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from tri.compat.triton.errors import InterpreterError as InterpreterError
from tri_core.errors import CompilationError as CompilationError
from tri_core.errors import CompileTimeAssertionFailure as CompileTimeAssertionFailure
from tri_core.errors import OutOfResources as OutOfResources

def __getattr__(name: str) -> _Any: ...
