from __future__ import annotations

import atexit
import os
import shutil
import tempfile

# a cache of this run's own: neither the user's kernels nor those of the last run
os.environ["TRI_CACHE_DIR"] = tempfile.mkdtemp(prefix="tri-test-")
atexit.register(shutil.rmtree, os.environ["TRI_CACHE_DIR"], ignore_errors=True)
