"""The fake provider does what its names say, and logs it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.provider_behaviours import Behaviour, answer_text, behaviour
from tests.fakes.provider import FakeProvider, fake_provider


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with fake_provider(chunks=3) as running:
        yield running


def post(url: str, model: str, prompt: str = "hi") -> str:
    body = {"model": model, "stream": True, "messages": [{"role": "user", "content": prompt}]}
    request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=10) as response:
        return response.read().decode()


def text_of(stream: str) -> str:
    lines = [line[6:] for line in stream.splitlines() if line.startswith("data: {")]
    choices = [choice for line in lines for choice in json.loads(line)["choices"]]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


def test_an_answer_depends_on_the_prompt_alone(provider: FakeProvider) -> None:
    assert text_of(post(provider.url, "ok", "a")) == answer_text("a", 3)
    assert answer_text("a", 3) != answer_text("b", 3)
    assert answer_text("a", 3).startswith("#")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ok", Behaviour()),
        ("some/model-v4", Behaviour()),
        ("slow-20", Behaviour(first_delay=20)),
        ("stream-200x50ms", Behaviour(chunks=200, interval=0.05)),
        ("status-429-after-7", Behaviour(status=429, retry_after=7, body="error")),
        ("slow-2+cut-5", Behaviour(first_delay=2, chunks=5, ending="cut")),
        ("cut-clean", Behaviour(chunks=5, ending="cut-clean")),
        ("empty", Behaviour(chunks=0)),
    ],
)
def test_a_name_is_a_script(name: str, expected: Behaviour) -> None:
    assert behaviour(name, Behaviour()) == expected


def test_the_prompt_outranks_the_model_and_the_switch_outranks_both(provider: FakeProvider) -> None:
    with pytest.raises(urllib.error.HTTPError, match="418"):
        post(provider.url, "ok", "please [[status-418]]")
    provider.become("status-503", times=1)
    with pytest.raises(urllib.error.HTTPError, match="503"):
        post(provider.url, "ok", "please [[status-418]]")
    assert text_of(post(provider.url, "ok"))


def test_a_switch_for_one_model_leaves_the_others(provider: FakeProvider) -> None:
    provider.become("status-500", model="a")
    assert text_of(post(provider.url, "b"))
    with pytest.raises(urllib.error.HTTPError, match="500"):
        post(provider.url, "a")


def test_down_refuses_connections_until_it_is_healed(provider: FakeProvider) -> None:
    url = provider.url
    provider.become("down")
    with pytest.raises(urllib.error.URLError, match="refused"):
        post(url, "ok")
    provider.become(None)
    assert text_of(post(url, "ok"))
    assert provider.url == url


def test_the_log_tells_start_end_and_outcome(provider: FakeProvider) -> None:
    before = time.time()
    post(provider.url, "ok", "log me")
    [start] = provider.requests("log me")
    end = provider.outcome(start["id"])
    assert before <= start["at"] <= end["at"] <= time.time()
    assert (start["model"], start["behaviour"], start["messages"]) == ("ok", "ok", [["user", "log me"]])
    assert (end["chunks"], end["outcome"]) == (3, "finished")


def test_the_command_prints_its_ports_and_writes_the_log(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    command = [sys.executable, "-m", "bench.provider", "--chunks", "4", "--interval", "0.001", "--log", str(log)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    port, control = int(process.stdout.readline()), int(process.stdout.readline())
    try:
        assert text_of(post(f"http://127.0.0.1:{port}/v1", "ok")) == answer_text("hi", 4)
        order = urllib.request.Request(
            f"http://127.0.0.1:{control}/control", b'{"behaviour": "status-500", "times": 1}'
        )
        urllib.request.urlopen(order, timeout=10).close()
        with pytest.raises(urllib.error.HTTPError, match="500"):
            post(f"http://127.0.0.1:{port}/v1", "ok")
        with urllib.request.urlopen(f"http://127.0.0.1:{control}/stats", timeout=10) as response:
            stats: dict[str, Any] = json.load(response)
        assert stats == {"requests": 2, "live": 0, "most": 1}
    finally:
        process.terminate()
        assert process.wait(10) == 0
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert [entry["event"] for entry in entries] == ["start", "end", "start", "end"]
