"""Numbers of the element types of a kernel's graph (:mod:`tri_core.ttir`): bits of floats, neutral elements."""
