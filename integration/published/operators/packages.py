"""The packages whose operators are judged, and the operators that are not right by the package itself."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["DEFECTS", "PACKAGES"]

PACKAGES = ("conch-triton-kernels", "fla-core", "flag-gems", "mlstm-kernels")

#: package/operator -> what the package does, read in its source; the same on every device
DEFECTS: Mapping[str, str] = {
    "flag-gems/argmin": "along the last dimension it writes whole blocks of rows, also where there are fewer rows: past the end of the result",
    "flag-gems/bitwise_left_shift": "without out it hands None to its launcher, which reads the shape of it",
    "flag-gems/bitwise_right_shift": "as bitwise_left_shift",
    "flag-gems/max_pool2d_backward": "it takes the places of the maxima, too, which PyTorch's operator of this name has not",
    "flag-gems/select_backward": "it does not count a negative index from the end",
    "flag-gems/var.dim": "it takes a correction by name, PyTorch hands over whether the estimate is unbiased by place",
    "flag-gems/avg_pool2d": "with ceil_mode it divides by the whole window, PyTorch by what is inside of the padded image",
    "flag-gems/avg_pool2d_backward": "as avg_pool2d",
    "flag-gems/native_group_norm": "its mask keeps channels of the next group where a group's size is no power of two",
    "flag-gems/native_group_norm_backward": "as native_group_norm",
    "flag-gems/_upsample_nearest_exact1d": "in a host's memory it calls PyTorch's operator with a size and a scale, which takes one of them",
    "flag-gems/count_nonzero": "it does not count a negative dim from the end",
    "flag-gems/native_batch_norm": "without training it gives back a mean and a deviation that it never wrote, PyTorch none",
    "flag-gems/polar": "its result has the shape of the absolute values, also where the angles have more",
    "flag-gems/scatter_add_": "along another dimension than the last it adds to a copy, and its argument stays as it was",
    "flag-gems/unfold_backward": "it reads a gradient by the strides of a contiguous one, and divides by the number of dimensions of a scalar",
}
