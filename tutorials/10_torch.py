# %% [markdown]
# # torch.compile and custom operators
#
# A kernel takes tensors of PyTorch as they are. This page makes an operator of one, with a gradient, and
# compiles a function around it. It needs PyTorch; its CPU build is enough.

# %%
import torch

import tri
import tri.language as tl


@tri.jit
def silu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x / (1 + tl.exp(-x)), mask=mask)


@tri.jit
def silu_backward_kernel(x_ptr, grad_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    share = 1 / (1 + tl.exp(-x))
    slope = share * (1 + x * (1 - share))
    tl.store(out_ptr + offsets, tl.load(grad_ptr + offsets, mask=mask) * slope, mask=mask)


# %% [markdown]
# `torch.library.custom_op` registers the operator. PyTorch traces programs with tensors that have no data,
# and asks `register_fake` for the result's shape and type.


# %%
@torch.library.custom_op("tri_tutorial::silu", mutates_args=())
def silu(x: torch.Tensor) -> torch.Tensor:
    x = x.contiguous()
    out = torch.empty_like(x)
    silu_kernel[(tri.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out


@silu.register_fake
def _(x):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@torch.library.custom_op("tri_tutorial::silu_backward", mutates_args=())
def silu_backward(x: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    x, grad = x.contiguous(), grad.contiguous()
    out = torch.empty_like(x)
    silu_backward_kernel[(tri.cdiv(x.numel(), 256),)](x, grad, out, x.numel(), BLOCK=256)
    return out


@silu_backward.register_fake
def _(x, grad):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


silu.register_autograd(
    lambda ctx, grad: silu_backward(ctx.saved_tensors[0], grad),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
)

# %% [markdown]
# Values and gradients, against PyTorch's own in float64:

# %%
torch.manual_seed(0)
x = torch.randn(1000, requires_grad=True)
exact = x.detach().double().requires_grad_()
silu(x).square().sum().backward()
torch.nn.functional.silu(exact).square().sum().backward()
torch.testing.assert_close(silu(x).double(), torch.nn.functional.silu(exact), rtol=1e-5, atol=1e-6)
torch.testing.assert_close(x.grad.double(), exact.grad, rtol=1e-4, atol=1e-5)

# %% [markdown]
# `torch.compile` keeps the operator whole and compiles what is around it. Here the backend `aot_eager` is
# named, which needs no C++ compiler; leave it out to have Inductor.


# %%
@torch.compile(backend="aot_eager", fullgraph=True)
def layer(x):
    return silu(2 * x) + 1


torch.testing.assert_close(layer(x), torch.nn.functional.silu(2 * x) + 1)
print("compiled and plain agree")

# %% [markdown]
# Inductor writes kernels in Triton's language itself. `tri.compat.triton.install()` gives them to tri.
