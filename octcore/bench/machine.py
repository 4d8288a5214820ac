"""What a measurement ran on; it stands in every line, so that files of machines can meet."""

import contextlib
import functools
import os
import platform
from pathlib import Path

import psutil

from octcore.serial import versions

CPU_FILE = Path("/proc/cpuinfo")


@functools.cache
def machine_words() -> str:
    """Cores, processor, memory, system and the versions of what determines results."""
    memory = psutil.virtual_memory().total / 2**30
    packages = ", ".join(f"{name} {version}" for name, version in versions().items())
    return (
        f"{os.cpu_count()} cores of {_processor()}, {memory:.0f} GiB, {platform.uname().system}; "
        f"{packages}"
    )


def load() -> float:
    """Processes that ran or wanted to, on average over the last minute."""
    return round(psutil.getloadavg()[0], 2)


def cpu_seconds() -> float:
    """Processor seconds of this process and of all its children, ended ones included, so far."""
    own = psutil.Process()
    total = 0.0
    for process in (own, *own.children(recursive=True)):
        with contextlib.suppress(psutil.Error):  # ended meanwhile: counted by its parent
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def _processor() -> str:
    """Name of the processor: from Linux, whose standard library knows the architecture only."""
    if CPU_FILE.exists():
        for line in CPU_FILE.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine()
