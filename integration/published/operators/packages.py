"""The packages whose operators are judged, and the operators that are not right by the package itself."""

from __future__ import annotations

from collections.abc import Mapping

from tri_core.lazy_dataclasses import dataclass

__all__ = ["DEFECTS", "PACKAGES", "Defect"]

PACKAGES = ("conch-triton-kernels", "fla-core", "flag-gems", "mlstm-kernels")


@dataclass(frozen=True)
class Defect:
    """Defect of a package, the same on every device, and evidence that it is the package's own.

    ``interpreted``: Triton 3.9's own interpreter, without tri, gives the same error or the same wrong numbers.
    Else ``shown`` says in which line, or which check says so.
    """

    what: str
    shown: str = ""
    interpreted: bool = False

    @property
    def evidence(self) -> str:
        """Evidence, in the page's words."""
        same = "the same in Triton's own interpreter" if self.interpreted else ""
        return "; ".join(t for t in (same, self.shown) if t)


_PLACES = "in its Python, before anything is launched"
#: package/operator -> what is its own
DEFECTS: Mapping[str, Defect] = {
    "flag-gems/_upsample_nearest_exact1d": Defect(
        "it takes the pixel at or before a place, not the nearest; in a host's memory it calls PyTorch's operator with a size and a scale, which takes one of them",
        "its kernel lacks the half of a pixel (_upsample_nearest_exact1d.py:51)",
        interpreted=True,
    ),
    "flag-gems/argmin": Defect(
        "along the last dimension it reads and writes whole blocks of rows, also where there are fewer rows: past the end of its tensors",
        "mask=True (argmin.py:88, argmin.py:98); tri's interpreter says OutOfBounds there",
    ),
    "flag-gems/avg_pool2d": Defect(
        "with ceil_mode it divides by the whole window, PyTorch by what is inside of the padded image",
        interpreted=True,
    ),
    "flag-gems/avg_pool2d_backward": Defect("as avg_pool2d", interpreted=True),
    "flag-gems/bitwise_left_shift": Defect(
        "without out it hands None to its launcher, which reads the shape of it", _PLACES, interpreted=True
    ),
    "flag-gems/bitwise_right_shift": Defect("as bitwise_left_shift", _PLACES, interpreted=True),
    "flag-gems/count_nonzero": Defect(
        "it does not count a negative dim from the end", _PLACES, interpreted=True
    ),
    "flag-gems/max_pool2d_backward": Defect(
        "it takes the places of the maxima, too, which PyTorch's operator of this name has not",
        _PLACES,
        interpreted=True,
    ),
    "flag-gems/native_batch_norm": Defect(
        "without training it gives back a mean and a deviation that it never wrote, PyTorch none",
        "its kernel stores them where it trains only (batch_norm.py, is_train)",
    ),
    "flag-gems/native_group_norm": Defect(
        "its mask keeps channels of the next group where a group's size is no power of two",
        "groupnorm.py:68; tri's interpreter says KernelDataRace: two programs store the same element",
    ),
    "flag-gems/native_group_norm_backward": Defect("as native_group_norm", interpreted=True),
    "flag-gems/polar": Defect(
        "its result has the shape of the absolute values, also where the angles have more", _PLACES
    ),
    "flag-gems/scatter_add_": Defect(
        "along another dimension than the last it adds to a copy, and its argument stays as it was",
        interpreted=True,
    ),
    "flag-gems/select_backward": Defect(
        "it does not count a negative index from the end", _PLACES, interpreted=True
    ),
    "flag-gems/unfold_backward": Defect(
        "it reads a gradient by the strides of a contiguous one, and divides by the number of dimensions of a scalar",
        interpreted=True,
    ),
    "flag-gems/var.dim": Defect(
        "it takes a correction by name, PyTorch hands over whether the estimate is unbiased by place",
        _PLACES,
        interpreted=True,
    ),
}
