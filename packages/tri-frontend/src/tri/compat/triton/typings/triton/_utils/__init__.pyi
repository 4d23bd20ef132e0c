# Made by `python -m integration.stubs` from tri.compat.triton.table: do not edit.
from typing import Any as _Any

from tri.compat.triton.dtypes import BITWIDTH_DICT as BITWIDTH_DICT
from tri.compat.triton.dtypes import canonicalize_dtype as canonicalize_dtype
from tri.compat.triton.dtypes import canonicalize_ptr_dtype as canonicalize_ptr_dtype
from tri.compat.triton.dtypes import get_primitive_bitwidth as get_primitive_bitwidth
from tri.compat.triton.dtypes import type_canonicalisation_dict as type_canonicalisation_dict
from tri.compat.triton.utils import TRITON_MAX_TENSOR_NUMEL as TRITON_MAX_TENSOR_NUMEL
from tri.compat.triton.utils import apply_with_path as apply_with_path
from tri.compat.triton.utils import find_paths_if as find_paths_if
from tri.compat.triton.utils import get_iterable_path as get_iterable_path
from tri.compat.triton.utils import is_iterable as is_iterable
from tri.compat.triton.utils import is_namedtuple as is_namedtuple
from tri.compat.triton.utils import is_power_of_two as is_power_of_two
from tri.compat.triton.utils import prewarm_deprecation_warnings as prewarm_deprecation_warnings
from tri.compat.triton.utils import set_iterable_path as set_iterable_path
from tri.compat.triton.utils import validate_block_shape as validate_block_shape
from tri.compat.triton.utils import warn_once as warn_once

def __getattr__(name: str) -> _Any: ...
