"""The local model's server process. Started by ``localmodel``; a script of its own that imports nothing of ours.

Reads its settings as one JSON line from stdin, answers ``{"url": ...}`` on stdout when the model is loaded, and serves
until SIGTERM or until its parent is gone.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from typing import Any

PR_SET_PDEATHSIG = 1
PARENT_LOOK = 0.5
NICENESS = 5


def _leave(*_: Any) -> None:
    """End at once: the library has no stop of its own, and open streams end with the process."""
    os._exit(0)


def _leave_if_orphaned(parent: int) -> None:
    if os.getppid() != parent:
        _leave()


def _follow(parent: int) -> None:
    """Be told when the parent dies. The kernel also signals when merely the thread that started us ends."""
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGUSR1, lambda *_: _leave_if_orphaned(parent))
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGUSR1)
    _leave_if_orphaned(parent)


def main() -> None:
    """Load the model, tell the address, serve."""
    wanted = json.loads(sys.stdin.readline())
    _follow(wanted["parent"])
    os.nice(NICENESS)
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = wanted["model_file"]
    params.model_alias = {wanted["model"]}
    params.n_ctx = wanted["n_ctx"]
    params.n_parallel = wanted["n_parallel"]
    params.cpuparams.n_threads = wanted["n_threads"]
    params.cpuparams_batch.n_threads = wanted["n_threads"]
    params.verbosity = wanted["verbosity"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [wanted["key"]]
    # No page, no look into other people's prompts, no cache beyond the slots.
    params.ui = False
    params.endpoint_slots = False
    params.endpoint_props = False
    params.cache_ram_mib = 0
    server = xllamacpp.Server(params)
    answer.write(json.dumps({"url": server.listening_address}) + "\n")
    answer.close()
    while True:
        time.sleep(PARENT_LOOK)
        _leave_if_orphaned(wanted["parent"])


if __name__ == "__main__":
    main()
