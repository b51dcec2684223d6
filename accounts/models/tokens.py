"""Tokens of people."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from knox.models import AbstractAuthToken, AuthTokenManager

from core.ids import new_id


def _token_id() -> str:
    return new_id("tok")


class ApiTokenManager(AuthTokenManager):
    """Knox's manager: hashes the token and returns the secret once."""


class ApiToken(AbstractAuthToken):
    """A named token, hashed at rest (knox), shown once. `scopes` hold what it may do."""

    public_id = models.CharField(max_length=40, unique=True, default=_token_id, editable=False)
    name = models.CharField(max_length=100)
    scopes = models.JSONField(default=list)
    last_used_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[ApiTokenManager] = ApiTokenManager()

    def __str__(self) -> str:
        return self.name
