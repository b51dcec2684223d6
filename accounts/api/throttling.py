"""How often one token or person may ask."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.cache import cache
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts.models import ApiToken
from core.clock import host_now


class TokenThrottle(BaseThrottle):
    """A fixed window of one minute per token, or per person without one.

    Counted in Redis for all processes together; without Redis each process counts alone.
    """

    def allow_request(self, request: Request, view: Any) -> bool:
        if not request.user or not request.user.is_authenticated:
            return True
        who = f"t{request.auth.public_id}" if isinstance(request.auth, ApiToken) else f"u{request.user.pk}"
        second = int(host_now().timestamp())
        self.left = 60 - second % 60
        key = f"rate:{who}:{second // 60}"
        if cache.add(key, 1, timeout=120):
            return True
        try:
            count = cache.incr(key)
        except ValueError:  # the window ended between the two
            return True
        return count <= settings.API_REQUESTS_PER_MINUTE

    def wait(self) -> float:
        return self.left
