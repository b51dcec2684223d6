"""Secrets at rest: sealed with the key of the deployment (`ENCRYPTION_KEY`), authenticated, never logged."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings


class Unreadable(Exception):
    """The sealed text was made with another key or was changed."""


@lru_cache(maxsize=4)
def _box(key: str) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(hashlib.sha256(key.encode()).digest()))


def seal(secret: str) -> str:
    """Return `secret` encrypted (Fernet: AES-128-CBC with HMAC-SHA256), as text."""
    return _box(settings.ENCRYPTION_KEY).encrypt(secret.encode()).decode()


def unseal(sealed: str) -> str:
    """Return what `seal` was given. Raises Unreadable when the key is another one or the text was changed."""
    try:
        return _box(settings.ENCRYPTION_KEY).decrypt(sealed.encode()).decode()
    except InvalidToken as error:
        raise Unreadable("the sealed secret cannot be read with this ENCRYPTION_KEY") from error
