"""Tokens: who may do what with which, and the one act an operator has: revoke. Nothing of the secret is shown."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.models import ApiToken, User
from accounts.services.tokens import token_revoke
from core.admin import ReadOnlyAdmin, stamp
from core.admin.paging import NextChangeList


def nameless(token: ApiToken) -> ApiToken:
    """Return the row known by its public id alone: its key is the digest of the secret, which no page needs."""
    token.digest = token.public_id
    token.token_key = ""
    return token


class TokenList(NextChangeList):
    """Tokens, addressed by their public ids."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = [nameless(token) for token in self.result_list]


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    """Tokens of people. People make their own; deleting one revokes it at once."""

    list_display = ("name", "user", "may", "made", "expires", "used")
    list_select_related = ("user",)
    page_select_related = ("user",)
    search_fields = ("public_id",)
    search_ids = {"tok": "public_id"}
    search_owner = "user"
    search_text = "name"
    ordering = ("-created", "digest")
    fields = ("name", "user", "public_id", "may", "made", "expires", "used")
    deletable = True
    noted_by_service = True
    delete_warning = _("Whatever uses it is refused from now on.")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[NextChangeList]:
        return TokenList

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """None for selections: tokens are revoked one by one."""
        return {}

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        rows = self.get_queryset(request).select_related(*self.page_select_related)
        # The admin takes `_24` in an address for a quoted `$`: an id that begins like that is quoted back.
        found = rows.filter(public_id__in=[object_id, quote(object_id)]).first()
        return None if found is None else nameless(found)

    @display(description=_("May"))
    def may(self, obj: ApiToken) -> str:
        return ", ".join(obj.scopes)

    @display(description=_("Made"), ordering="created")
    def made(self, obj: ApiToken) -> SafeString | str:
        return stamp(obj.created)

    @display(description=_("Expires"), ordering="expiry")
    def expires(self, obj: ApiToken) -> SafeString | str:
        return stamp(obj.expiry) if obj.expiry else str(_("Never"))

    @display(description=_("Last used"), ordering="last_used_at")
    def used(self, obj: ApiToken) -> SafeString | str:
        return stamp(obj.last_used_at)

    def erase(self, request: HttpRequest, obj: Any, now: datetime) -> None:
        actor = request.user if isinstance(request.user, User) else None
        token_revoke(token=ApiToken.objects.get(public_id=obj.public_id), actor=actor, now=now)
