"""PyTorch's Inductor on tri: models through ``torch.compile`` with its pool of compile workers, against eager.

``python -m integration.inductor [CASES]`` runs each case in a process of its own with empty caches.
"""
