"""Mathematics at zeros of both signs, infinities, NaN and the ends of the type."""

from __future__ import annotations

import math

import numpy as np

from tri_conformance.contracts import Ulp
from tri_conformance.features import Feature, Point, Trial
from tri_conformance.kernels import special as k

__all__ = ["FEATURES"]


def _mathematics(point: Point) -> Trial:
    ends = np.finfo(point.numpy)
    some = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, np.nan, 3.5, -0.25, 2.0, 9.0, -9.0]
    x = np.array([*some, float(ends.max), -float(ends.max)], point.numpy)
    v = x.astype(np.float64)
    with np.errstate(all="ignore"):
        results = {
            "exp": np.exp(v), "exp2": np.exp2(v), "log": np.log(v), "log2": np.log2(v), "sqrt": np.sqrt(v),
            "rsqrt": 1 / np.sqrt(v), "erf": np.vectorize(math.erf)(v), "floor": np.floor(v), "ceil": np.ceil(v),
            "abs": np.abs(v), "sigmoid": 1 / (1 + np.exp(-v)), "sin": np.sin(v), "cos": np.cos(v), "fma": v * v + v,
            "clamp": np.fmin(np.fmax(v, -1.0), 2.0), "maximum with NaN": np.maximum(v, 0.25),
            "minimum with NaN": np.minimum(v, 0.25), "minimum": np.fmin(v, 0.25), "fdiv": 1 / v, "division": v / 3,
        }  # fmt: skip
    outs = tuple(np.full(x.size, 77).astype(point.numpy) for _ in results)
    return Trial(
        arguments=[outs, x],
        exact={0: tuple(results.values())},
        names={0: list(results)},
        constants={"N": x.size},
    )


FEATURES = (
    Feature(
        name="mathematics-of-special", kernel=k.mathematics, make=_mathematics, dtypes=("fp32", "fp64"), shapes=((16,),),
        contract=Ulp(16),
    ),
)  # fmt: skip
