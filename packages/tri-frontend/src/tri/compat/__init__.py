"""Standing in for other packages, so that code which cannot be edited runs on tri."""
