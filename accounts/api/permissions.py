"""What the one who asks may do: tokens by their scopes, sessions by the person."""

from __future__ import annotations

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from accounts.domain.scopes import grants
from accounts.models import ApiToken
from core.errors import Refusal


class HasScope(BasePermission):
    """Sign-in first; then, for a token, one of the scopes that the view names for this act.

    `view.required_scopes` maps the action (of a view set) or the method to a scope or to several of which one is
    enough; `"any"` lets every token in that is more than a fire token, `"session"` only a person with a session. A
    scope may name a part of the address: `fire:{id}`. An act without an entry is closed to tokens.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        if not request.user or not request.user.is_authenticated:
            return False
        if not isinstance(request.auth, ApiToken):
            return True
        if getattr(view, "action", "") is None:
            return True  # no act of this address answers the method: 405 follows
        needed = _needed(request, view)
        if needed == ("session",):
            raise Refusal("permission_denied")
        if not grants(request.auth.scopes, needed):
            raise Refusal("scope_missing", scope=needed[0] if needed else "session")
        return True


def _needed(request: Request, view: Any) -> tuple[str, ...]:
    table = getattr(view, "required_scopes", {})
    action = getattr(view, "action", None)
    method = "GET" if request.method in ("HEAD", "OPTIONS") else request.method
    named = table.get(action) or table.get(method) or ()
    scopes = (named,) if isinstance(named, str) else tuple(named)
    return tuple(scope.format_map({key: str(value) for key, value in view.kwargs.items()}) for scope in scopes)
