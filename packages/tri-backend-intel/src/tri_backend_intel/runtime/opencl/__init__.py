"""OpenCL directly, for the device that a CPU is."""
