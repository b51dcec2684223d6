"""Who is asking: a token, or a session with CSRF protection."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models import Q
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from knox.auth import TokenAuthentication as KnoxAuthentication
from rest_framework import authentication, exceptions
from rest_framework.request import Request

from accounts.models import ApiToken, User
from core.clock import host_now
from core.errors import Refusal

USE_IS_NOTED_EVERY = timedelta(minutes=1)


class TokenAuthentication(KnoxAuthentication):
    """`Authorization: Bearer <token>`. `request.auth` is the ApiToken; its last use is noted once a minute at most."""

    def authenticate_credentials(self, token: bytes) -> tuple[User, ApiToken]:
        try:
            user, found = super().authenticate_credentials(token)
        except UnicodeDecodeError as error:
            raise exceptions.AuthenticationFailed from error
        now = host_now()
        stale = Q(last_used_at=None) | Q(last_used_at__lt=now - USE_IS_NOTED_EVERY)
        if found.last_used_at is None or found.last_used_at < now - USE_IS_NOTED_EVERY:
            ApiToken.objects.filter(stale, pk=found.pk).update(last_used_at=now)
        return user, found

    def _cleanup_token(self, auth_token: ApiToken) -> bool:
        """Return whether the token's time is over. It stays listed, as expired, until its owner revokes it."""
        return auth_token.expiry is not None and auth_token.expiry < host_now()


class SessionAuthentication(authentication.SessionAuthentication):
    """The browser's session. A state change without its CSRF token is `csrf_failed` (403)."""

    def enforce_csrf(self, request: Request) -> None:
        try:
            super().enforce_csrf(request)
        except exceptions.PermissionDenied as error:
            raise Refusal("csrf_failed") from error


class TokenScheme(OpenApiAuthenticationExtension):
    """How the OpenAPI document describes the token."""

    target_class = "accounts.api.authentication.TokenAuthentication"
    name = "token"
    priority = 1

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}


class SessionScheme(OpenApiAuthenticationExtension):
    """How the OpenAPI document describes the session."""

    target_class = "accounts.api.authentication.SessionAuthentication"
    name = "session"
    priority = 1

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}
