"""Secrets at rest (quality.md, Security)."""

from __future__ import annotations

from typing import Any

import pytest

from core.crypto import Unreadable, seal, unseal


def test_a_sealed_secret_is_read_again_and_shows_nothing():
    sealed = seal("sk-very-secret")
    assert "secret" not in sealed
    assert seal("sk-very-secret") != sealed
    assert unseal(sealed) == "sk-very-secret"


def test_another_key_reads_nothing(settings: Any):
    sealed = seal("sk-very-secret")
    settings.ENCRYPTION_KEY = "another"
    with pytest.raises(Unreadable):
        unseal(sealed)
