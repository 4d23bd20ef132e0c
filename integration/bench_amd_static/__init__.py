"""Machine code of AMD targets counted, beside Triton's."""
