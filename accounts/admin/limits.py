"""Limit sets: numbers and switches of the deployment, a group or a person."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.domain.limits import DEPLOYMENT_ONLY, NAMES
from accounts.models import LimitSet, User
from accounts.selectors.limits import default_limits
from accounts.services.access import limits_forget
from accounts.services.limits import limits_set
from core.admin import OperatorAdmin, OperatorForm, inherits_when_empty

_SAID = {
    "enabled": _("Schedules on"),
    "max_schedules": _("Schedules at most"),
    "min_interval_seconds": _("Shortest gap (s)"),
    "max_failures": _("Failures in a row"),
    "max_balance_skips": _("Skips without credit"),
    "max_concurrent": _("Scheduled turns at once"),
    "max_concurrent_turns": _("All turns at once"),
    "daily_runs": _("Runs a day"),
    "monthly_spend": _("Spend a month"),
}


class LimitSetForm(OperatorForm):
    """Limits of one scope; an empty field inherits."""

    class Meta:
        model = LimitSet
        fields = ("scope", "group", "user", *NAMES)
        labels = _SAID

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        inherits_when_empty(self.fields.get("enabled"))
        for name, value in default_limits().items():
            if name in self.fields:
                kept = _("no limit") if value is None else _("on") if value is True else value
                self.fields[name].help_text = _("Empty inherits. Where nobody set anything: %(value)s.") % {
                    "value": kept
                }


@admin.register(LimitSet)
class LimitSetAdmin(OperatorAdmin):
    """Limits. A lowered one stops nothing that exists; it stops new ones."""

    form = LimitSetForm
    list_display = ("of", "scope", *NAMES)
    list_select_related = ("group", "user")
    list_filter = ("scope",)
    search_fields = ("user__email",)
    search_owner = "user"
    ordering = ("scope", "id")
    autocomplete_fields = ("user", "group")
    deletable = True
    noted_by_service = True
    delete_warning = _("Everything set here is inherited from then on.")

    @display(description=_("Of"))
    def of(self, obj: LimitSet) -> str:
        return str(obj)

    def get_readonly_fields(self, request: HttpRequest, obj: LimitSet | None = None) -> Any:
        return ("scope", "group", "user") if obj is not None else ()

    def get_fields(self, request: HttpRequest, obj: LimitSet | None = None) -> Any:
        """Show only what the scope of a stored set can have."""
        if obj is None:
            return ("scope", "group", "user", *NAMES)
        owner = {"group": ("group",), "user": ("user",)}.get(obj.scope, ())
        return ("scope", *owner, *(n for n in NAMES if obj.scope == "deployment" or n not in DEPLOYMENT_ONLY))

    def write(self, request: HttpRequest, obj: Any, form: Any, change: bool, now: datetime) -> LimitSet:
        data = form.cleaned_data
        names = [name for name in NAMES if name in (form.changed_data if change else data)]
        values = {name: data[name] for name in names if change or data[name] is not None}
        where = obj if change else data
        scope, group, user = (
            (where.scope, where.group, where.user) if change else (where["scope"], where["group"], where["user"])
        )
        actor = request.user if isinstance(request.user, User) else None
        return limits_set(scope=scope, group=group, user=user, values=values, actor=actor, now=now)

    def erase(self, request: HttpRequest, obj: Any, now: datetime) -> None:
        limits_forget(row=obj, actor=request.user if isinstance(request.user, User) else None, now=now)
