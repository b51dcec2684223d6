"""What the product asks of processes: forking a child that runs one function, and dying with who started it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

PR_SET_PDEATHSIG = 1
M_ARENA_MAX = -8
_leader: int | None = None


def die_with_parent(number: int = signal.SIGTERM) -> None:
    """Ask Linux to send signal `number` to this process when its parent ends, however it ends."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, number)


def forks_die_with_parents() -> None:
    """Let whatever is forked below this process end at once when the process that forked it ends, however it ends.

    For a process whose descendants are forked by a library: when all who would end them are killed, none is left.
    """
    os.register_at_fork(after_in_child=lambda: die_with_parent(signal.SIGKILL))


def lead() -> None:
    """Let every process that is forked below this one ask whether this one has ended (`leaderless`)."""
    global _leader  # noqa: PLW0603 - one leader per process tree, told before the first fork
    with contextlib.suppress(OSError, AttributeError):  # a number could be somebody else's by then; only Linux has more
        _leader = os.pidfd_open(os.getpid())


def leaderless() -> bool:
    """Return whether the process that leads this one has ended; False where that cannot be told."""
    if _leader is None:
        return False
    poll = select.poll()
    poll.register(_leader, select.POLLIN)
    return bool(poll.poll(0))


def share_one_heap() -> None:
    """Let all threads of this process and its children allocate from one heap, where the C library offers it.

    A heap for each thread keeps some MB for itself, and the interpreter lets one thread allocate at a time anyway.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def fork(work: Callable[[], None], *, own_session: bool = False) -> int:
    """Run `work` in a forked child and return its process id; the child shares the parent's loaded pages.

    Only for a parent with one thread and no open database connection. `own_session` lets the child and all its
    descendants be killed together.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        if own_session:
            os.setsid()
        die_with_parent()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        work()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001 - the last frame of the child: say what happened, then leave
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def ended(pid: int) -> bool:
    """Return whether the child `pid` has ended, and reap it."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def alive(pid: int) -> bool:
    """Return whether a process of this number exists on this host."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def place() -> str:
    """Return what tells this running system apart: its boot and its view of process numbers (a container's own).

    Two processes of one place may ask each other's numbers; an empty text says that this cannot be told here.
    """
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"
    return ""


def send(pid: int, number: int, *, session: bool = False) -> None:
    """Send a signal to a child, or to its whole session; one that has gone is no error."""
    with contextlib.suppress(ProcessLookupError):
        (os.killpg if session else os.kill)(pid, number)
