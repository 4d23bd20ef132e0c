"""The packages: which, in which version, and what their users import."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from integration.published import vllm_package
from integration.published.bare import without_init

__all__ = ["PROJECTS", "Project", "extended", "load", "requirements"]


@dataclass(frozen=True)
class Project:
    """A distribution on PyPI.

    ``modules``: what its users import.  ``requires``: what those import besides PyTorch, NumPy and ``extended``, distributions that are
    installed with their own dependencies.  ``environment``: the variables that tell the package what it would look for.
    ``nightly``: large; installed where the whole list is asked for.  ``bare``: its package without what ``__init__`` does, and without the modules
    ``absent``, which kernels don't use: a serving engine asks for its whole server.
    """

    name: str
    version: str
    modules: tuple[str, ...]
    requires: tuple[str, ...] = ()
    extended: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    nightly: bool = False
    bare: str = ""
    absent: tuple[str, ...] = ()


#: what PyTorch's own samples of operators import, which the whole list is judged by
_SAMPLES = ("expecttest",)
_UNSLOTH = (
    "accelerate",
    "bitsandbytes",
    "datasets<5",
    "diffusers",
    "hf_transfer",
    "huggingface_hub",
    "msgspec",
    "nest-asyncio",
    "peft",
    "protobuf",
    "pydantic",
    "regex",
    "sentencepiece",
    "structlog",
    "transformers<=5.17.0",
    "trl<=1.15.0",
    "tyro",
)

#: what sglang's server imports
_SERVER = ("IPython", "aiohttp", "fastapi", "orjson", "pybase64", "requests", "starlette", "tvm_ffi", "tqdm", "transformers", "uvicorn",
    "zmq")  # fmt: skip

PROJECTS = {
    p.name: p
    for p in (
        Project(
            "liger-kernel",
            "0.8.5",
            ("liger_kernel.transformers", "liger_kernel.ops"),
            ("packaging",),
            # one configuration for each kernel, as its own switch has it
            environment={"LIGER_FUSED_MOE_AUTOTUNE": "0"},
        ),
        Project(
            "fla-core",
            "0.6.0",
            (
                "fla.ops",
                "fla.modules",
                # imported by the others where there is an NVIDIA GPU
                "fla.ops.utils.sinkhorn.gluon",
                "fla.modules.fused_cross_entropy.gluon",
                "fla.modules.causal_conv1d.backends.gluon",
            ),
            ("einops", "packaging"),
        ),
        Project("conch-triton-kernels", "1.3", ("conch", "conch.kernels")),
        Project(
            "flag-gems",
            "5.0.2",
            ("flag_gems",),
            ("packaging", "PyYAML"),
            ("sqlalchemy",),
            # where it does not say where tuned configurations are kept, it names a file for the GPU, whose name it asks PyTorch for
            {"GEMS_VENDOR": "nvidia", "FLAGGEMS_DB_URL": "sqlite://"},
        ),
        Project("cut-cross-entropy", "25.1.1", ("cut_cross_entropy",), environment={"CCE_AUTOTUNE": "0"}),
        Project("sageattention", "1.0.6", ("sageattention",)),
        Project("torchao", "0.18.0", ("torchao.prototype", "torchao.kernel")),
        # OpenAI's triton_kernels, of Triton's own tree
        Project(
            "tokenspeed-triton-kernels",
            "1.0.0.post20260510",
            (
                "triton_kernels.matmul",
                "triton_kernels.topk",
                "triton_kernels.reduce",
                "triton_kernels.swiglu",
            ),
            extended=("pytest",),
        ),
        Project("mlstm-kernels", "2.0.6", ("mlstm_kernels.torch",), ("einops",)),
        Project(
            "helion",
            "1.5.1",
            ("helion", "helion.language"),
            ("filecheck",),
            ("psutil", "rich", "scikit-learn"),
            # one configuration for each kernel: each case names those that it tries
            {"HELION_AUTOTUNE_EFFORT": "none"},
            nightly=True,
        ),
        Project("spconv-triton", "1.0.0", ("spconv_triton.pytorch",)),
        Project("xformers", "0.0.35", ("xformers.ops",), nightly=True),
        Project(
            "unsloth",
            "2026.10.9",
            ("unsloth.kernels",),
            ("unsloth_zoo==2026.10.9",),
            _UNSLOTH,
            nightly=True,
        ),
        Project(
            "lmdeploy",
            "0.18.0",
            ("lmdeploy.pytorch.kernels.cuda.pagedattention",),
            nightly=True,
            bare="lmdeploy",
            absent=("transformers",),
        ),
        Project(
            "sglang",
            "0.5.23",
            ("sglang.kernels.ops.attention.decode_attention",),
            ("einops", "msgspec"),
            nightly=True,
            bare="sglang",
            absent=_SERVER,
        ),
        Project("transformers", "5.17.0", ("transformers",), extended=("accelerate",), nightly=True),
        Project(
            "vllm", "0.33.0", (f"{vllm_package.OPS}.triton_unified_attention",), nightly=True, bare="vllm"
        ),
    )
}


def requirements(*, whole: bool = False) -> list[str]:
    """Requirements that pip installs, without dependencies, into the folder of packages; ``whole``: the large
    ones too.
    """
    chosen = [p for p in PROJECTS.values() if whole or not p.nightly]
    needed = {r for p in chosen for r in p.requires}
    return [f"{p.name}=={p.version}" for p in chosen] + sorted(needed)


def extended(*, whole: bool = False) -> list[str]:
    """Requirements that pip installs with dependencies beside PyTorch; none of them brings Triton.
    ``whole``: what judges operators, too.
    """
    needed = {r for p in PROJECTS.values() if whole or not p.nightly for r in p.extended}
    return sorted(needed | set(_SAMPLES if whole else ()))


def load(project: str, module: str, folder: Path) -> Any:
    """The module ``module`` of ``project``, from ``folder``; ``import triton`` means tri already."""
    for name, value in PROJECTS[project].environment.items():
        os.environ.setdefault(name, value)
    bare = PROJECTS[project].bare
    if bare and bare not in sys.modules:
        without_init(bare, folder, nothing=PROJECTS[project].absent)
    # behind the environment's own packages: a folder of packages is no place to take PyTorch's dependencies from
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    return importlib.import_module(module)
