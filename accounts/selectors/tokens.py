"""Reads of tokens, scoped to their owner (P15)."""

from __future__ import annotations

from django.db.models import QuerySet

from accounts.models import ApiToken, User


def tokens_of(user: User) -> QuerySet[ApiToken]:
    """Return the person's tokens, expired ones included until they are revoked."""
    return ApiToken.objects.filter(user=user)


def token_find(user: User, public_id: str) -> ApiToken | None:
    """Return the person's token, or None when it is not there or somebody else's."""
    return tokens_of(user).filter(public_id=public_id).first()


def tokens_count(user_id: int) -> int:
    """Return how many tokens the person has."""
    return ApiToken.objects.filter(user=user_id).count()
