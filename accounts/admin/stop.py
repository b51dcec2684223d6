"""The global stop: one switch with its reason, shown to everybody as a banner while it is on."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.models import GlobalStop, User
from accounts.services.stops import global_stop_set
from core.admin import OperatorAdmin, OperatorForm, stamp


class GlobalStopForm(OperatorForm):
    """The switch."""

    class Meta:
        model = GlobalStop
        fields = ("on", "reason")
        labels = {"on": _("Everything on hold")}
        help_texts = {
            "on": _("Nothing starts that no person started. What is due stays due, what is queued stays queued; "
                    "nothing is lost. A person’s own messages are still answered."),
            "reason": _("Everybody reads it."),
        }  # fmt: skip


@admin.register(GlobalStop)
class GlobalStopAdmin(OperatorAdmin):
    """The one row of the global stop; its list is its page."""

    form = GlobalStopForm
    fields = ("on", "reason", "since", "changed_by", "environment")
    readonly_fields = ("since", "changed_by", "environment")
    page_select_related = ("changed_by",)
    show_add_link = False
    noted_by_service = True

    @display(description=_("Since"))
    def since(self, obj: GlobalStop) -> SafeString | str:
        return stamp(obj.changed_at)

    @display(description=_("Environment"))
    def environment(self, obj: GlobalStop) -> str:
        """Say whether the environment holds everything whatever this switch says."""
        if not settings.GLOBAL_STOP:
            return str(_("GLOBAL_STOP is off: this switch decides."))
        return str(_("GLOBAL_STOP is on: everything is on hold whatever this switch says."))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Go to the switch itself."""
        GlobalStop.objects.get_or_create(pk=1)
        return HttpResponseRedirect(reverse("admin:accounts_globalstop_change", args=[1]))

    def write(self, request: HttpRequest, obj: Any, form: Any, change: bool, now: datetime) -> GlobalStop:
        data = form.cleaned_data
        actor = request.user if isinstance(request.user, User) else None
        return global_stop_set(on=data["on"], reason=data["reason"], actor=actor, now=now)
