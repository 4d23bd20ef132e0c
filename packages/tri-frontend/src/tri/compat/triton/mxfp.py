"""``triton.tools.mxfp``: PyTorch tensors in the formats of the OCP microscaling specification, for tests.

E2M1 (4 bits, two of them in a byte) and E8M0 (a scale of 8 bits, a power of two), of "OCP Microscaling Formats (MX)
Specification" v1.0, sections 5.3.3 and 5.4.1.
"""

from __future__ import annotations

import abc
import importlib
import itertools
from typing import Any

__all__ = ["MXFP4Tensor", "MXScaleTensor", "fp8e8m0_to_float32"]

#: what the codes 0 to 7 mean; 8 more is the same with a sign
_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_NAN = 0xFF
_BIAS = 127


def _torch() -> Any:
    return importlib.import_module("torch")


class _Codes(abc.ABC):
    """A tensor of codes, from values or (:meth:`random`) of a size."""

    data: Any

    def __init__(self, data: Any = None, size: Any = None, device: Any = None) -> None:
        if data is None and size is None:
            raise ValueError("give data= (a tensor of values) or size=")
        self.device = device if data is None else data.device
        self.size = (size if isinstance(size, tuple) else (size,)) if data is None else tuple(data.shape)
        if data is not None:
            self.data = self._from_float(data)

    @abc.abstractmethod
    def _from_float(self, values: Any) -> Any:
        """The codes of ``values``."""


class MXFP4Tensor(_Codes):
    """Elements E2M1, one code in each byte of ``data``."""

    def random(self) -> MXFP4Tensor:
        """All codes, alike often."""
        torch = _torch()
        self.data = torch.randint(0, 16, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype: Any) -> Any:
        """The values, as a tensor of ``dtype``."""
        torch = _torch()
        table = torch.tensor([*_E2M1, *(-v for v in _E2M1)], dtype=dtype, device=self.data.device)
        return table[self.data.long()]

    def _from_float(self, values: Any) -> Any:
        """The nearest codes, of two alike near the even one; saturating, and NaN as the largest."""
        torch = _torch()
        magnitude = torch.nan_to_num(values.float().abs(), nan=_E2M1[-1], posinf=_E2M1[-1])
        middles = [(low + high) / 2 for low, high in itertools.pairwise(_E2M1)]
        code = torch.zeros_like(magnitude, dtype=torch.uint8)
        for below, middle in enumerate(middles):
            beyond = magnitude > middle if below % 2 == 0 else magnitude >= middle
            code += beyond.to(torch.uint8)
        return code | (torch.signbit(values).to(torch.uint8) << 3)

    def to_packed_tensor(self, dim: int) -> Any:
        """Two neighbours along ``dim`` in a byte, the first in the low half; an odd one beside zero."""
        if not 0 <= dim < self.data.ndim:
            # as Triton has it, and its callers catch
            raise AssertionError(f"dim is {dim}; the tensor has {self.data.ndim} dimensions")
        low = self.data[(slice(None),) * dim + (slice(0, None, 2),)]
        high = self.data[(slice(None),) * dim + (slice(1, None, 2),)]
        packed = low.clone()
        packed[(slice(None),) * dim + (slice(0, high.shape[dim]),)] |= high << 4
        return packed

    def unpack_packed_tensor(self, packed_tensor: Any, dim: int, original_shape: Any) -> Any:
        """The codes of :meth:`to_packed_tensor`, as a tensor of ``original_shape``."""
        torch = _torch()
        halves = torch.stack((packed_tensor & 15, packed_tensor >> 4), dim=dim + 1)
        return halves.flatten(dim, dim + 1).narrow(dim, 0, original_shape[dim]).contiguous()


def fp8e8m0_to_float32(scale: Any) -> Any:
    """The values of scales E8M0 (bytes, or a dtype of that width), as float32; 2^-127 exactly, 255 as NaN."""
    torch = _torch()
    codes = scale.view(torch.uint8)
    values = torch.ldexp(torch.ones(codes.shape, device=codes.device), codes.to(torch.int32) - _BIAS)
    return values.masked_fill(codes == _NAN, float("nan"))


class MXScaleTensor(_Codes):
    """Scales E8M0: code ``c`` is 2^(c - 127), 255 is NaN."""

    def random(self, low: float | None = None, high: float | None = None) -> MXScaleTensor:
        """Powers of two from ``low`` to ``high``, of all when left out; no NaN."""
        torch = _torch()

        def code(value: float | None, default: int) -> int:
            if value is None:
                return default
            return int(torch.log2(torch.tensor(float(value)))) + _BIAS

        first, last = max(0, code(low, 0)), min(_NAN - 1, code(high, _NAN - 1))
        if first > last:
            raise ValueError(f"low is {low}, which is above high, {high}")
        self.data = torch.randint(first, last + 1, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype: Any) -> Any:
        """The values, as a tensor of ``dtype``."""
        return fp8e8m0_to_float32(self.data).to(dtype)

    def _from_float(self, values: Any) -> Any:
        """The power of two that is not above the value, clamped; NaN for what is not positive or not finite."""
        torch = _torch()
        exponents = torch.frexp(values.double())[1] - 1
        codes = exponents.clamp(-_BIAS, _NAN - 1 - _BIAS) + _BIAS
        wrong = ~(torch.isfinite(values) & (values > 0))
        return codes.masked_fill(wrong, _NAN).to(torch.uint8)
