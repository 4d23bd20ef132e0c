"""Several GPUs, and streams: ``python -m pytest -m gpu packages/tri-backend-nvidia/tests/driver/test_gpu_devices.py``."""

from __future__ import annotations

import threading

import pytest
from integration.kernels.vector_add import vector_add

import tri

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="two GPUs are needed"),
]

N = 1 << 20


def arrays(device):
    x, y = (torch.randn(N, device=device) for _ in range(2))
    return x, y, torch.full_like(x, float("nan"))


def add(x, y, out):
    vector_add[(tri.cdiv(N, 1024),)](x, y, out, N, BLOCK=1024)


def test_a_kernel_runs_where_its_tensors_are():
    for device in ("cuda:1", "cuda:0", "cuda:1"):
        x, y, out = arrays(device)
        add(x, y, out)
        torch.testing.assert_close(out, x + y, rtol=0, atol=0)
        assert torch.cuda.current_device() == 0


def test_each_device_has_its_stream():
    x, y, out = arrays("cuda:1")
    torch.cuda.synchronize(1)
    side = torch.cuda.Stream(device=1)
    with torch.cuda.stream(side):
        torch.cuda._sleep(20_000_000)  # the kernel would overtake this on another stream
        x.fill_(3.0)
        add(x, y, out)
    side.synchronize()
    torch.testing.assert_close(out, y + 3.0, rtol=0, atol=0)


def test_events_of_pytorch_time_launches():
    x, y, out = arrays("cuda:0")
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    add(x, y, out)
    begin.record()
    for _ in range(100):
        add(x, y, out)
    end.record()
    end.synchronize()
    assert begin.elapsed_time(end) > 0


def test_threads_use_devices_of_their_own():
    wrong = []

    def work(device):
        for _ in range(50):
            x, y, out = arrays(device)
            add(x, y, out)
            if not torch.equal(out, x + y):
                wrong.append(device)

    threads = [threading.Thread(target=work, args=(f"cuda:{i % 2}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
