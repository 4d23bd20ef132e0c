"""The front end as a plugin: what it contributes through hooks is open to everybody.

Arrays of NumPy, PyTorch and DLPack need no hook (:mod:`tri.launch.arrays`); being a plugin puts the front
end's version on the list of ``tri plugins`` and into bug reports.
"""

from __future__ import annotations

TRI_PLUGIN_API = (1, 0)
