"""``import triton`` in processes that a process with the stand-in started: they find this folder on their path.

Installs the stand-in, which takes this module's place.  In an interpreter without tri (another environment that inherited the
path) it steps aside for the Triton there.
"""

import importlib
import os
import sys

del sys.modules[__name__]
try:
    from tri.compat.triton import install
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "tri":
        raise
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != folder]
    sys.path_importer_cache.pop(folder, None)
else:
    install()
# the stand-in, or what is installed: the import system looks up what stands under the name now
importlib.import_module("triton")
