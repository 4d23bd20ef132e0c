"""Profiles of programs: what each kernel was launched for, how long it took, what it moved and computed, line by line."""

from tri.profiling.collecting import profile
from tri.profiling.page import render
from tri.profiling.records import KernelProfile, LaunchRecord, LineProfile, Peaks, Profile
from tri.profiling.tables import tables
from tri.profiling.traces import trace

__all__ = [
    "KernelProfile",
    "LaunchRecord",
    "LineProfile",
    "Peaks",
    "Profile",
    "profile",
    "render",
    "tables",
    "trace",
]
