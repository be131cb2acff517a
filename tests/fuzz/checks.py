"""What every case must satisfy: nothing written elsewhere, no file left open, little memory, errors of one line."""

import os
import resource
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

MAX_MEMORY = 1 << 30  # bytes, more than before the case
VALID, CLEAN_ERROR = "valid", "clean error"
_MAX_MESSAGE_LENGTH = 2000
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod"}
_FORBIDDEN = {"os.system", "os.exec", "os.fork", "socket.connect", "socket.bind"}
_IGNORED = ("__pycache__", "/dev/", "/proc/self/")  # caches of compiled code, which Python and Numba write; devices


class Watch:
    """Records files that Python changes outside of one folder, and connections."""

    def __init__(self, folder):
        self.folder, self.events = f"{os.path.realpath(folder)}{os.sep}", []
        sys.addaudithook(self._hook)

    def _hook(self, event, arguments):
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, int) or not (flags or 0) & _WRITE_FLAGS:
                return
            paths = [path]
        elif event in _CHANGES:
            paths = [path for path in arguments[:2] if isinstance(path, str | bytes | os.PathLike)]
        elif event in _FORBIDDEN:
            self.events.append(f"{event}{arguments}")
            return
        else:
            return
        for path in map(os.path.abspath, map(os.fsdecode, paths)):
            if not f"{path}{os.sep}".startswith(self.folder) and not any(part in path for part in _IGNORED):
                self.events.append(f"{event}: {path}")

    def check(self):
        """Raise an error about what was recorded since the last call."""
        events, self.events = self.events, []
        assert not events, f"changed something outside of its folder: {', '.join(events[:3])}"


def limit_memory():
    """Let the process have at most ``MAX_MEMORY`` more than it has now, and begin a new measurement of its peak."""
    data = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (data + MAX_MEMORY, resource.RLIM_INFINITY))
    Path("/proc/self/clear_refs").write_text("5")


def peak_memory():
    """Peak resident memory in bytes since :func:`limit_memory`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    return 0


def resident_memory():
    """Resident memory in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def open_files():
    """Number of open file descriptors."""
    return len(os.listdir("/proc/self/fd"))


def files_in(folder):
    """The contents of all files below a folder, by path; False for a folder."""
    return {str(path.relative_to(folder)): path.is_file() and path.read_bytes() for path in sorted(folder.rglob("*"))}


@contextmanager
def only_changes(folder, *allowed):
    """Check that what runs inside changes no file below the folder except those that are allowed."""
    before = files_in(folder)
    yield
    after = files_in(folder)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert changed <= {str(path) for path in allowed}, f"changed, left behind or removed: {sorted(changed)}"


@contextmanager
def notes_allowed():
    """Allow warnings that the library itself raises for its users (UserWarning); others remain errors."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)
        yield


def check_error(error):
    """Check the message of an expected error, and that its cause is not a lack of memory."""
    assert not isinstance(error, UnicodeError), f"{type(error).__name__}: {error}"
    check_message(str(error))
    cause = error
    while cause is not None:
        assert not isinstance(cause, MemoryError), f"needed more than {MAX_MEMORY >> 20} MiB: {error}"
        cause = cause.__cause__ or cause.__context__
    return CLEAN_ERROR


def check_message(message):
    """A message is one printable line of moderate length."""
    assert message.strip(), "an error without a message"
    assert message.isprintable(), f"an error of several lines, or with control characters: {message[:200]!r}"
    assert len(message) < _MAX_MESSAGE_LENGTH, f"an error of {len(message)} characters: {message[:200]!r}"
