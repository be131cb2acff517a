"""What a process holds: memory, Python objects, open files, threads. None of it may grow with the work done."""

import ctypes
import gc
import os
import resource
import threading
import tracemalloc
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
# More than one run differs from the next by, and less than what one leaked object per step would add.
MAX_GROWTH = {"resident": 24 * MIB, "objects": MIB // 4, "files": 0, "threads": 0}


@dataclass(frozen=True)
class Usage:
    """Bytes of resident memory that is in use and of Python objects; numbers of open files and threads."""

    resident: int
    objects: int
    files: int
    threads: int


def measure_usage():
    """What this process holds now."""
    gc.collect()
    # The C library keeps freed memory in an arena per thread, the more the more threads were interrupted.
    ctypes.CDLL(None).malloc_trim(0)
    pages, of_files = map(int, Path("/proc/self/statm").read_text().split()[1:3])
    resident = (pages - of_files) * resource.getpagesize()
    return Usage(
        resident, tracemalloc.get_traced_memory()[0], len(os.listdir("/proc/self/fd")), threading.active_count()
    )


@contextmanager
def no_growth(report):
    """Check that the process holds no more after the work inside than before; ``report`` prints a line of text."""
    tracemalloc.start()
    try:
        before = measure_usage()
        yield
        after = measure_usage()
    finally:
        tracemalloc.stop()
    growth = {name: getattr(after, name) - getattr(before, name) for name in MAX_GROWTH}
    report(
        f"growth: {growth['resident'] / MIB:.1f} MiB resident, {growth['objects'] / MIB:.2f} MiB of Python objects, "
        f"{growth['files']} files, {growth['threads']} threads"
    )
    for name, limit in MAX_GROWTH.items():
        assert growth[name] <= limit, f"{name} grew by {growth[name]}, more than {limit}"
