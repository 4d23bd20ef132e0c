"""Published kernels that nobody here wrote, run through ``tri.compat.triton`` and checked against PyTorch.

``python -m integration.published --packages FOLDER`` runs them, with the packages of :data:`~.projects.PROJECTS`
installed (or their wheels unpacked) in ``FOLDER``; ``nox -s published`` installs them and does it.
"""
