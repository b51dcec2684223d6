"""One client per address, key and event loop; proxies as the environment names them."""

from __future__ import annotations

import asyncio

import pytest

from agents.runtime.clients import client_for, close_clients, proxy_for
from tests.agents.runtime.conftest import call, spec_for
from tests.fakes.provider import FakeProvider


def test_calls_of_one_loop_share_a_client_per_address_and_key(provider: FakeProvider) -> None:
    async def main() -> None:
        first = client_for(spec_for(provider, "a"))
        assert client_for(spec_for(provider, "b")) is first
        assert client_for(spec_for(provider, "a", api_key="another-key")) is not first
        assert client_for(spec_for(provider, "a", kind="anthropic")) is not first
        await close_clients()
        assert first.http.is_closed

    asyncio.run(main())


def test_a_client_belongs_to_one_event_loop(provider: FakeProvider) -> None:
    """A loop that ended without closing its clients does no harm to the next."""

    async def main() -> object:
        assert (await call(spec_for(provider))).answer
        return client_for(spec_for(provider))

    assert asyncio.run(main()) is not asyncio.run(main())


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("https://api.example.com/v1", "http://proxy.example:3128"),
        ("https://inside.example.com/v1", None),
        ("http://127.0.0.1:8000/v1", None),
        ("http://localhost:8000/v1", None),
        ("http://plain.example.com/v1", None),
    ],
)
def test_a_proxy_of_the_environment_is_used_but_never_for_this_machine(
    monkeypatch: pytest.MonkeyPatch, address: str, found: str | None
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "inside.example.com")
    assert proxy_for(address) == found
