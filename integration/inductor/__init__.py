"""PyTorch's Inductor on tri: models through ``torch.compile`` with its pool of compile workers, against eager.

``python -m integration.inductor [CASES]`` runs them in one process with empty caches.
"""
