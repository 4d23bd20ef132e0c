"""``gl.nvidia.ampere.async_copy``: copies from global to shared memory by each thread's own pointers (``cp.async``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.experimental.gluon.types import async_token
from tri.language import builtin
from tri.language.accesses import load_policies
from tri.language.casts import value_of
from tri.language.shapes import broadcast_pair
from tri.language.tensor import dimensions, tensor
from tri.language.types import pointer_type
from tri_backend_nvidia.language.gluon.cache_policies import CachePolicy
from tri_backend_nvidia.language.gluon.checks import buffer_of, constant, for_target
from tri_core.errors import CompilationError, Unsupported

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = ["async_load", "builtin", "commit_group", "wait_group"]

#: names that are not here yet, and what to do instead
__later__ = {
    "async_copy_global_to_shared": "Triton dropped it; call async_load",
    "mbarrier_arrive": "wait for the copies with wait_group, then arrive on the mbarrier",
}


@builtin
def async_load(
    smem: Any,
    pointer: Any,
    mask: Any = None,
    cache_modifier: str | None = None,
    eviction_policy: str | None = None,
    volatile: bool = False,
    cache_policy: Any = None,
    *,
    _semantic: Builder,
) -> None:
    """Start copying what ``pointer``, a tensor of ``smem``'s shape, points at to ``smem``; zeros where ``mask`` is false.

    The copies belong to the next group that :func:`commit_group` makes.  CompilationError for another shape or dtype.
    """
    b = for_target(_semantic, "ampere.async_copy.async_load", "cp-async")
    if volatile:
        raise Unsupported("a volatile async_load", remedy="load with gl.load(..., volatile=True) and store")
    if cache_policy is not None:
        cache_modifier, eviction_policy = _hints(cache_policy, cache_modifier, eviction_policy)
    destination, source = buffer_of(smem, "smem"), value_of(b, pointer)
    masks: list[tensor] = []
    if mask is not None:
        source, given = broadcast_pair(b, source, value_of(b, mask))
        masks = [given]
    scalar = source.type.scalar
    if not isinstance(scalar, pointer_type) or scalar.element_ty is not destination.dtype:
        raise CompilationError(
            f"async_load copies from {source.type} to {destination!r}",
            remedy="pass pointers to elements of the buffer's dtype",
        )
    if dimensions(source) != destination.type.shape:
        raise CompilationError(
            f"async_load of pointers of shape {list(dimensions(source))} to {destination!r}",
            remedy="slice or index the buffer to the pointers' shape",
        )
    attributes = {
        **load_policies(b, cache_modifier, eviction_policy),
        "operandSegmentSizes": b.segments(1, 1, len(masks), 0),
    }
    operands = [source, destination.handle, *masks]
    b.create("ttg.async_copy_global_to_local", [async_token()], operands, attributes)


def _hints(policy: Any, modifier: str | None, eviction: str | None) -> tuple[str | None, str | None]:
    """The hints of a load that ``policy`` stands for; CompilationError for both, Unsupported for a detailed one."""
    if modifier is not None or eviction is not None:
        raise CompilationError(
            "cache_policy is given with cache_modifier or eviction_policy", remedy="give one of them"
        )
    if not isinstance(policy, CachePolicy):
        raise CompilationError(f"cache_policy is {policy!r}", remedy="pass a CachePolicy")
    if policy.l1 is not None or policy.l2 is not None or policy.l2_prefetch_size is not None:
        raise Unsupported(f"{policy}", remedy="use CachePolicy(cache_modifier=...) alone")
    return f".{policy.cache_modifier}", None


@builtin
def commit_group(*, _semantic: Builder) -> None:
    """Make one group of the copies that were started since the last call."""
    b = for_target(_semantic, "ampere.async_copy.commit_group", "cp-async")
    b.create("ttg.async_commit_group", [async_token()])


@builtin
def wait_group(num_outstanding: int = 0, *, _semantic: Builder) -> None:
    """Wait until at most ``num_outstanding`` (constexpr) groups are under way; all threads then see what the others brought."""
    b = for_target(_semantic, "ampere.async_copy.wait_group", "cp-async")
    number = constant(num_outstanding, "num_outstanding")
    b.create("ttg.async_wait", [async_token()], attributes={"num": b.i32(number)})
