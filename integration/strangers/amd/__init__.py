"""Kernels that aiter, vLLM and fla have for AMD's GPUs, compiled unmodified by tri and by Triton, without a GPU."""
