"""The hooks."""

from tri_core.api import LanguageExtension, hookimpl

TRI_PLUGIN_API = (1, 0)


@hookimpl
def tri_register_ir(registry):
    """Add the dialect."""
    from tri_activations.ops import Act

    registry.add_dialect(Act)


@hookimpl
def tri_language():
    """Add ``tl.extra.act``."""
    return [LanguageExtension(namespace="act", module="tri_activations.language")]
