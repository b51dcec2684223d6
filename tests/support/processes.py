"""The shipped processes for tests: started with a data folder, a database and a port of their own, ended by pid.

Nothing sleeps for luck: everything is waited for by looking, with a deadline, and a deadline that passes fails with
the end of every log.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent.parent
_PASSED_ON = ("PATH", "HOME", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV")


class DeadlinePassed(AssertionError):
    """What was waited for did not come in time; the text holds the end of every log."""


def free_port() -> int:
    """Return a port of the loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(true: Callable[[], Any], *, seconds: float = 15, what: str = "", every: float = 0.05) -> Any:
    """Return what `true` returns once it is truthy; raise DeadlinePassed after `seconds`."""
    until = time.monotonic() + seconds
    while True:
        found = true()
        if found:
            return found
        if time.monotonic() > until:
            raise DeadlinePassed(f"not within {seconds} s: {what or true}")
        time.sleep(every)


def get(url: str, *, token: str = "", seconds: float = 5) -> tuple[int, bytes]:
    """Return status and body of a GET; 0 when nothing answers. Errors of HTTP are answers too."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except OSError:
        return 0, b""


@dataclass
class Process:
    """One started process and its log. It leads a session, so that what it starts can be ended with it."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.popen.pid

    def alive(self) -> bool:
        return self.popen.poll() is None

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal to this process alone."""
        if self.alive():
            self.popen.send_signal(number)

    def wait(self, *, seconds: float = 15) -> int:
        """Return the exit code; raise DeadlinePassed when it does not end in time."""
        try:
            return self.popen.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise DeadlinePassed(f"{self.name} still runs after {seconds} s\n{self.tail()}") from error

    def stop(self, *, seconds: float = 45) -> int:
        """End it as an operator does, with SIGTERM to the main process; return the exit code."""
        self.kill(signal.SIGTERM)
        return self.wait(seconds=seconds)

    def children(self) -> list[psutil.Process]:
        """Return every living descendant, nearest first."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self.pid).children(recursive=True)
        return []

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def tail(self, lines: int = 40) -> str:
        """Return the end of its log under its name."""
        return f"--- {self.name} ---\n" + "\n".join(self.output().splitlines()[-lines:])


@dataclass
class Deployment:
    """A data folder with a database and a port, and the shipped processes that run on it."""

    folder: Path
    database_url: str = ""
    environ: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    processes: list[Process] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def environment(self, **more: str) -> dict[str, str]:
        """Return the whole environment of its processes: nothing of the test run leaks into them."""
        kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        own = {
            "QUOTIDIAN_DATA_DIR": str(self.folder),
            "DATABASE_URL": self.database_url,
            "LOCAL_MODEL": "off",
            "PYTHONUNBUFFERED": "1",
        }
        return {**kept, **own, **self.environ, **more}

    def start(self, name: str, *command: str, **environ: str) -> Process:
        """Start `python <command>` in the checkout, its output in a log of its own."""
        log = self.folder / f"{name}-{len(self.processes)}.log"
        with log.open("wb") as out:
            popen = subprocess.Popen(
                [sys.executable, *command], cwd=ROOT, env=self.environment(**environ),
                stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        process = Process(name, popen, log)
        self.processes.append(process)
        return process

    def web(self, **environ: str) -> Process:
        """Start the web server as `bin/serve` does and wait until it answers."""
        process = self.start(
            "web", "-m", "uvicorn", "config.asgi:application", "--host", "127.0.0.1", "--port", str(self.port),
            "--workers", "2", "--lifespan", "off", "--no-access-log", "--no-server-header",
            "--log-level", "warning", "--timeout-graceful-shutdown", "5", "--timeout-worker-healthcheck", "60",
            **environ,
        )  # fmt: skip
        self.wait_until(lambda: get(f"{self.address}/healthz")[0] == 200, seconds=60, what="the web server answers")
        return process

    def worker(self, *options: str, ready: bool = True, **environ: str) -> Process:
        """Start `manage.py worker`; with `ready` wait until its clock has ticked."""
        process = self.start("worker", "manage.py", "worker", *options, **environ)
        if ready:
            self.wait_until(lambda: self._ticked(process), seconds=60, what="the worker's clock ticks")
        return process

    def _ticked(self, process: Process) -> bool:
        if not process.alive():
            raise DeadlinePassed(f"the worker ended with {process.popen.returncode}\n{process.tail()}")
        query = "SELECT count(*) FROM chats_workerhost WHERE clock_at IS NOT NULL AND stopped_at IS NULL"
        return bool(self.query(query)[0][0] >= sum(p.name == "worker" and p.alive() for p in self.processes))

    def manage(self, *arguments: str, stdin: str = "", **environ: str) -> str:
        """Run a management command and return its standard output; raise AssertionError when it fails."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments], cwd=ROOT, env=self.environment(**environ),
            input=stdin, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, f"manage.py {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def query(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return the rows of one query on its database, on a connection of its own."""
        from tests.support import databases

        return databases.query(self.database_url, self.folder, sql, parameters)

    def wait_until(self, true: Callable[[], Any], *, seconds: float = 15, what: str = "") -> Any:
        """`wait_until` whose failure shows the end of every log."""
        try:
            return wait_until(true, seconds=seconds, what=what)
        except DeadlinePassed as passed:
            tails = "\n".join(process.tail() for process in self.processes)
            raise DeadlinePassed(f"{passed}\n{tails}") from None

    def wait_for_rows(self, sql: str, *parameters: Any, count: int = 1, seconds: float = 15) -> list[tuple[Any, ...]]:
        """Return the rows of `sql` once there are at least `count`."""
        enough = lambda rows: rows if len(rows) >= count else None  # noqa: E731
        return self.wait_until(lambda: enough(self.query(sql, *parameters)), seconds=seconds, what=sql)

    def leftovers(self) -> list[psutil.Process]:
        """Return every living process that was started for this data folder, orphans included."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("QUOTIDIAN_DATA_DIR") == str(self.folder):
                    found.append(process)
        return [process for process in found if process.pid != os.getpid()]

    def end(self) -> None:
        """End everything: SIGTERM to the main processes, then SIGKILL by pid to what is left."""
        for process in self.processes:
            process.kill(signal.SIGCONT)
            process.kill(signal.SIGTERM)
        with contextlib.suppress(DeadlinePassed):
            wait_until(lambda: not any(process.alive() for process in self.processes), seconds=10)
        for process in self.leftovers():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        for process in self.processes:
            process.popen.wait(10)


@contextlib.contextmanager
def deployment(folder: Path, kind: str = "sqlite", *, pages: bool = False, **environ: str) -> Iterator[Deployment]:
    """Yield a deployment on a new, migrated `sqlite` or `postgresql` database; with `pages` its pages have styles.

    Secrets are those of the prepared folder, so that what was sealed there can be opened. Everything that was started
    for the folder is ended with the block.
    """
    from tests.support import databases

    folder.mkdir(parents=True, exist_ok=True)
    with databases.fresh(kind, folder) as url:
        for name in ("secret-key", "encryption-key"):
            shutil.copy(databases.prepared() / name, folder)
        if pages:
            shutil.copytree(databases.collected(), folder / "static", copy_function=os.link, dirs_exist_ok=True)
        made = Deployment(folder, url, dict(environ))
        try:
            yield made
        finally:
            made.end()
