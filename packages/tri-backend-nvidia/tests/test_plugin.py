from __future__ import annotations

import subprocess
import sys

import pytest

from tri_backend_nvidia import plugin
from tri_backend_nvidia.architectures import ARCHITECTURES
from tri_core.api import HOOKSPEC_API, TargetError
from tri_core.plugins import manager
from tri_core.target_selection import resolve


def test_the_contract_is_ours():
    assert plugin.TRI_PLUGIN_API[0] == HOOKSPEC_API[0]
    assert plugin.TRI_PLUGIN_API <= HOOKSPEC_API


def test_it_is_found_through_its_entry_point():
    record = next(p for p in manager().plugins() if p.name == "nvidia")
    assert record.state == "active"
    assert record.backends == ("nvidia",)
    assert manager().backends()["nvidia"].architectures == tuple(ARCHITECTURES)


def test_a_target_is_resolved_without_a_device():
    assert resolve("nvidia:sm_90a").spec.llvm.cpu == "sm_90a"
    with pytest.raises(TargetError, match="architecture must be named"):
        resolve("nvidia")


def test_the_cache_key_holds_the_assembler():
    assert "ptxas" in plugin.tri_cache_key(resolve("nvidia:sm_90a"))["ptxas"]


def test_probing_without_a_driver_imports_no_bindings():
    code = (
        "import sys\n"
        "from tri_backend_nvidia.driver import driver\n"
        "driver._LIBRARY = 'libno-such-driver.so'\n"
        "from tri_backend_nvidia.plugin import tri_probe\n"
        "assert tri_probe('nvidia') == ()\n"
        "assert not any(m.startswith('cuda') for m in sys.modules), 'the bindings cost 0.1 s'\n"
        "assert 'torch_mlir' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_module_itself_is_light():
    code = (
        "import sys\n"
        "import tri_core.api\n"
        "before = set(sys.modules)\n"
        "import tri_backend_nvidia.plugin\n"
        "print(sorted(set(sys.modules) - before))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "['tri_backend_nvidia', 'tri_backend_nvidia.plugin']"
