"""The same kernel source under Triton and tri, and a library's kernel, on this machine's GPU: ``python -m integration.bench_gpu``."""
