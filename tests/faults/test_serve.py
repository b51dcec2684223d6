"""`bin/serve` as a person starts it: what it prints, how it ends, and what it leaves behind (wire.md, Commands)."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.support import databases
from tests.support.processes import ROOT, Deployment, Process, free_port, get, wait_until

pytestmark = pytest.mark.fault

LINK = re.compile(r"^http://127\.0\.0\.1:\d+/setup/\S+$", re.MULTILINE)


@pytest.fixture
def house(tmp_path):
    """A data folder with static files and nothing else, served by `serve(house)`."""
    folder = tmp_path / "data"
    folder.mkdir()
    shutil.copytree(databases.collected(), folder / "static", copy_function=os.link)
    made = Deployment(folder)
    yield made
    made.end()


def serve(house: Deployment, *options: str) -> Process:
    """Start bin/serve on the house's port and wait until it says that it serves."""
    log = house.folder / f"serve-{len(house.processes)}.log"
    command = [
        str(ROOT / "bin/serve"),
        "--port",
        str(house.port),
        "--data",
        str(house.folder),
        "--no-local-model",
        *options,
    ]
    with log.open("wb") as out:
        popen = subprocess.Popen(
            command, cwd=house.folder, env=house.environment(), stdout=out, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
    process = Process("serve", popen, log)
    house.processes.append(process)
    house.wait_until(
        lambda: "Quotidian is at" in process.output() or not process.alive(), seconds=120, what="it serves"
    )
    assert process.alive(), process.tail()
    return process


def test_an_empty_folder_is_served_with_one_set_up_link_and_a_living_worker(house):
    process = serve(house)
    (link,) = LINK.findall(process.output())
    assert get(link)[0] == 200
    house.wait_until(lambda: get(f"{house.address}/readyz")[0] == 200, seconds=60, what="the worker's clock ticks")
    house.manage(
        "create_user", "olivia@example.com", "--operator", "--password-stdin", stdin="a long enough password\n"
    )
    assert get(link)[0] != 200
    assert process.stop() == 0
    assert house.leftovers() == []
    again = serve(house)
    assert LINK.findall(again.output()) == []
    assert again.stop() == 0


@pytest.mark.parametrize("victim", ["uvicorn", "manage.py"])
def test_when_one_process_dies_the_other_is_ended_and_the_exit_code_says_so(victim, house):
    process = serve(house)
    house.wait_until(lambda: get(f"{house.address}/readyz")[0] == 200, seconds=60)
    (main,) = [child for child in process.children() if victim in child.cmdline() and child.ppid() == process.pid]
    main.kill()
    assert process.wait(seconds=45) == 1
    assert "ended (signal 9); ending the rest" in process.output()
    house.wait_until(lambda: house.leftovers() == [], seconds=30, what="nothing is left")


def test_ctrl_c_twice_ends_everything_at_once(house):
    process = serve(house)
    house.wait_until(lambda: get(f"{house.address}/readyz")[0] == 200, seconds=60)
    process.kill(signal.SIGINT)
    process.kill(signal.SIGINT)
    assert process.wait(seconds=30) == 0
    house.wait_until(lambda: house.leftovers() == [], seconds=30, what="nothing is left")


def test_what_it_starts_does_not_outlive_a_kill_of_serve_itself(house):
    process = serve(house)
    house.wait_until(lambda: get(f"{house.address}/readyz")[0] == 200, seconds=60)
    process.kill(signal.SIGKILL)
    house.wait_until(lambda: house.leftovers() == [], seconds=60, what="nothing is left")


def _refused(*options: str, **environ: str) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    command = [str(ROOT / "bin/serve"), *options]
    return subprocess.run(command, env={**kept, **environ}, capture_output=True, text=True, check=False, timeout=30)


def test_a_port_that_is_taken_ends_the_start_with_one_line(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = _refused("--port", port, "--data", str(tmp_path / "data"))
    assert done.returncode == 2
    assert done.stderr == f"serve: cannot serve at 127.0.0.1 port {port}: Address already in use\n"
    assert not (tmp_path / "data").exists()


def test_a_host_for_strangers_needs_a_list_of_names(tmp_path: Path):
    done = _refused("--host", "0.0.0.0", "--port", str(free_port()), "--data", str(tmp_path / "data"))
    assert done.returncode == 2
    assert done.stderr.startswith("serve: --host 0.0.0.0 needs ALLOWED_HOSTS")
    assert len(done.stderr.splitlines()) == 1


def test_a_database_that_cannot_be_used_ends_the_start_before_anything_runs(tmp_path: Path):
    done = _refused("--port", str(free_port()), "--data", str(tmp_path), "--no-local-model", DATABASE_URL="mysql://x/y")
    assert done.returncode == 2
    assert "DATABASE_URL must begin with postgres:// or sqlite:///" in done.stderr


def test_the_wait_helper_gives_up_at_its_deadline():
    with pytest.raises(AssertionError, match=r"not within 0\.1 s: never"):
        wait_until(lambda: False, seconds=0.1, what="never")
