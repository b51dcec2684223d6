"""Providers that cannot be reached, and the rungs of the time ladder (R26, R27)."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.runtime.conftest import Ask, shape
from tests.fakes.provider import FakeProvider, answer_text


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:{dead}/v1", "http://nowhere.invalid/v1", "ftp://127.0.0.1/v1", "127.0.0.1/v1"],
    ids=["refused", "no such name", "no such scheme", "no scheme"],
)
def test_an_address_that_cannot_be_reached_is_definite(ask: Ask, address: str) -> None:
    """Could not connect, DNS, TLS: nothing happened, retry."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        outcome = ask(base_url=address.format(dead=unused.getsockname()[1]))
    assert shape(outcome.failure) == ("provider_unreachable", "definite", True, "")


@pytest.fixture
def tls_port(tmp_path: Path) -> Iterator[int]:
    """A TLS server whose certificate nobody signed."""
    files = ["-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "cert")]
    subject = ["-subj", "/CN=localhost", "-days", "1"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *files, *subject], check=True, capture_output=True
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        try:
            client, _ = listener.accept()
            context.wrap_socket(client, server_side=True).close()
        except OSError:
            pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    listener.close()


def test_a_certificate_that_nobody_signed_is_a_provider_that_cannot_be_reached(ask: Ask, tls_port: int) -> None:
    """TLS failures are definite."""
    outcome = ask(base_url=f"https://127.0.0.1:{tls_port}/v1")
    assert shape(outcome.failure) == ("provider_unreachable", "definite", True, "")
    assert outcome.failure and "CERTIFICATE_VERIFY_FAILED" in outcome.failure.detail


@pytest.mark.parametrize("kind", ["openai", "anthropic", "google"])
def test_a_host_that_does_not_shake_hands_in_time_cannot_be_reached(
    ask: Ask, provider: FakeProvider, kind: str
) -> None:
    """R26: the first rung, connecting."""
    address = provider.url.replace("http://", "https://")
    outcome = ask(base_url=address, kind=kind, connect_timeout=0.2, request_timeout=5)
    assert shape(outcome.failure) == ("provider_unreachable", "definite", True, "")


def test_no_token_in_time_is_a_timeout(ask: Ask) -> None:
    """R26: first token."""
    outcome = ask("slow-20", first_token_timeout=0.2)
    assert shape(outcome.failure) == ("provider_timeout", "ambiguous", True, "")


def test_a_stream_that_stalls_ends_at_the_deadline_with_its_text(ask: Ask) -> None:
    """R27: partial text kept."""
    outcome = ask("stall-3", request_timeout=0.4)
    assert shape(outcome.failure) == ("deadline", "ambiguous", False, answer_text("hello", 3))


def test_a_deadline_that_is_over_asks_nobody(ask: Ask, provider: FakeProvider) -> None:
    """R16, R27."""
    outcome = ask(prompt="too late", request_timeout=0.0)
    assert shape(outcome.failure) == ("deadline", "definite", False, "")
    assert provider.requests("too late") == []


def test_a_local_model_that_does_not_run_is_unreachable_and_nobody_else_is_asked(ask: Ask) -> None:
    """Without an address the request must not go to a service in the net."""
    outcome = ask(kind="local", base_url=None, api_key=None)
    assert shape(outcome.failure) == ("provider_unreachable", "definite", True, "")
