"""Provider keys: sealed on the way in, never handed out by a face."""

from __future__ import annotations

from agents.models import ModelProvider
from core.crypto import seal


def provider_key_set(*, provider: ModelProvider, key: str = "", key_env: str = "") -> ModelProvider:
    """Replace the provider's key by `key` (sealed) or by the name of an environment variable; both empty clears it."""
    provider.key_encrypted = seal(key) if key else ""
    provider.key_env = key_env
    provider.save(update_fields=["key_encrypted", "key_env"])
    return provider
