# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from tri.compat.triton.knobs import HookChain as HookChain
from tri.compat.triton.knobs import Knobs as Knobs
from tri.compat.triton.knobs import amd as amd
from tri.compat.triton.knobs import autotuning as autotuning
from tri.compat.triton.knobs import build as build
from tri.compat.triton.knobs import cache as cache
from tri.compat.triton.knobs import compilation as compilation
from tri.compat.triton.knobs import language as language
from tri.compat.triton.knobs import nvidia as nvidia
from tri.compat.triton.knobs import proton as proton
from tri.compat.triton.knobs import redis as redis
from tri.compat.triton.knobs import runtime as runtime

def __getattr__(name: str) -> _Any: ...
