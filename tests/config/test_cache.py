"""A Redis that is away empties the cache and breaks nothing (R31)."""

from __future__ import annotations

import pytest

from config.cache import ForgivingRedisCache


@pytest.fixture
def away():
    """A cache whose Redis does not listen."""
    return ForgivingRedisCache("redis://127.0.0.1:1/0", {})


def test_reading_finds_nothing(away):
    assert away.get("key") is None
    assert away.get("key", "default") == "default"
    assert away.get_many(["key"]) == {}
    assert away.has_key("key") is False


def test_writing_is_forgotten_without_an_error(away):
    assert away.add("key", 1) is True
    away.set("key", 1)
    away.set_many({"key": 1})
    assert away.delete("key") is False
    away.delete_many(["key"])
    assert away.touch("key") is False
    assert away.clear() is False


def test_counting_says_that_there_is_nothing_to_count(away):
    """What the request limit makes of a window that has just ended."""
    with pytest.raises(ValueError, match="does not answer"):
        away.incr("key")
    assert away.get_or_set("key", lambda: 5) == 5


def test_a_request_with_a_token_is_answered_while_the_cache_is_away(alice, away, client, monkeypatch, now):
    from accounts.services.tokens import token_create

    monkeypatch.setattr("accounts.api.throttling.cache", away)
    _, secret = token_create(user=alice, name="Test", scopes=["schedules:read"], expiry=None, now=now)
    answer = client.get("/api/v1/agents", headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 200, answer.content
