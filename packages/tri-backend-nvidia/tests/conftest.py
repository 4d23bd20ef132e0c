from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# a cache of this run's own: neither the user's kernels nor those of the last run
os.environ["TRI_CACHE_DIR"] = tempfile.mkdtemp(prefix="tri-test-")
atexit.register(shutil.rmtree, os.environ["TRI_CACHE_DIR"], ignore_errors=True)
