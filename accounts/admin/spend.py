"""What people used and what it cost, and the credit that operators give."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.models import CreditEntry, UsageEntry, User
from accounts.selectors.spend import balance_of
from accounts.services.spend import credit_grant
from core.admin import OperatorAdmin, OperatorForm, ReadOnlyAdmin, stamp
from core.human import money


class EstimatedFilter(admin.SimpleListFilter):
    """Whether the provider had said what was used."""

    title = _("figures")
    parameter_name = "estimated"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("0", _("Reported")), ("1", _("Estimated"))]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.filter(estimated=self.value() == "1") if self.value() in ("0", "1") else queryset


@admin.register(UsageEntry)
class UsageEntryAdmin(ReadOnlyAdmin):
    """The ledger of usage, newest first. Deleting conversations, schedules or runs leaves it as it is."""

    list_display = ("day", "owner", "kind", "schedule", "model", "input_tokens", "output_tokens", "spent", "estimated")
    list_display_links = ("day",)
    list_select_related = ("owner",)
    page_select_related = ("owner",)
    list_filter = (EstimatedFilter,)
    search_fields = ("schedule",)
    search_ids = {"sch": "schedule", "trn": "turn", "mdl": "model", "agt": "agent"}
    search_owner = "owner"
    ordering = ("-id",)
    fields = (
        "day", "owner", "kind", "turn", "schedule", "agent", "model", "input_tokens", "cached_tokens", "output_tokens",
        "spent", "estimated", "made",
    )  # fmt: skip

    @display(description=_("Cost"))
    def spent(self, obj: UsageEntry) -> str:
        return "–" if obj.cost is None else money(obj.cost) or "0"

    @display(description=_("Made"))
    def made(self, obj: UsageEntry) -> SafeString | str:
        return stamp(obj.created_at)


class CreditForm(OperatorForm):
    """A grant: whose, how much and why."""

    class Meta:
        model = CreditEntry
        fields = ("owner", "amount", "reason")
        labels = {"owner": _("Person"), "amount": _("Amount"), "reason": _("Reason")}
        help_texts = {
            "amount": _("Below zero takes it back. From the first grant on the balance binds what the person spends."),
            "reason": _("The person reads it on their usage page."),
        }


class KindFilter(admin.SimpleListFilter):
    """Grants or charges."""

    title = _("kind")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(CreditEntry.GRANT, _("Grants")), (CreditEntry.CHARGE, _("Charges"))]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.filter(kind=self.value()) if self.value() else queryset


@admin.register(CreditEntry)
class CreditEntryAdmin(OperatorAdmin):
    """Grants and charges, newest first. A grant is added; nothing is changed or removed."""

    form = CreditForm
    list_display = ("made", "owner", "kind", "signed", "reason")
    list_display_links = ("made",)
    list_select_related = ("owner",)
    page_select_related = ("owner",)
    list_filter = (KindFilter,)
    search_fields = ("key",)
    search_owner = "owner"
    ordering = ("-id",)
    autocomplete_fields = ("owner",)
    noted_by_service = True

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        codes = (f"accounts.{verb}_creditentry" for verb in ("view", "add"))
        return any(request.user.has_perm(code) for code in codes)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return ("owner", "amount", "reason")
        return ("owner", "kind", "signed", "reason", "balance", "made", "key")

    @display(description=_("Amount"))
    def signed(self, obj: CreditEntry) -> str:
        return f"{obj.amount.normalize():+,f}"

    @display(description=_("Balance now"))
    def balance(self, obj: CreditEntry) -> str:
        left = balance_of(obj.owner)
        return "–" if left is None else f"{left.normalize():,f}"

    @display(description=_("Made"))
    def made(self, obj: CreditEntry) -> SafeString | str:
        return stamp(obj.created_at)

    def write(self, request: HttpRequest, obj: Any, form: Any, change: bool, now: datetime) -> CreditEntry:
        data = form.cleaned_data
        actor = request.user if isinstance(request.user, User) else None
        return credit_grant(user=data["owner"], amount=data["amount"], reason=data["reason"], actor=actor, now=now)
