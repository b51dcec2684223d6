"""Acts on rows: the same function for a selection in a list and for the buttons of one page, always by POST."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core.admin.noting import Noting
from core.errors import Refusal
from core.human import say

MOST_AT_ONCE = 500


def act_on(
    admin: Noting, request: HttpRequest, rows: QuerySet[Any], act: Callable[[Any], Any], *, verb: str, did: str
) -> int:
    """Do `act` to each row by itself, note it, and say what was done and what was refused; return how many were done.

    A selection is a page at most; a forged larger one stops at 500. `verb` is the word of the audit log ("paused"),
    `did` the past participle in the message ("Paused"). An act that returns False changed nothing.
    """
    done = 0
    refused: Counter[str] = Counter()
    for row in list(rows[:MOST_AT_ONCE]):
        try:
            with transaction.atomic():
                before = admin.values_of(row.pk)
                if act(row) is False:
                    continue
                if not admin.noted_by_service:
                    admin.note(request, verb, row, before, admin.values_of(row.pk))
        except Refusal as refusal:
            refused[say(refusal.code, refusal.params)] += 1
            continue
        done += 1
    if done or not refused:
        text = ngettext("%(did)s: %(n)s.", "%(did)s: %(n)s.", done) % {"did": did, "n": done}
        admin.message_user(request, text, messages.SUCCESS if done else messages.INFO)
    for sentence, times in refused.items():
        count = f" ({times})" if times > 1 else ""
        admin.message_user(request, _("Not done: %(why)s") % {"why": sentence} + count, messages.ERROR)
    return done


class Acting(ModelAdmin):
    """Puts actions named in `object_actions` as buttons on the row's own page."""

    object_actions: dict[str, Any] = {}
    """Name of an action -> what its button says."""
    change_form_outer_before_template: str | None = "admin/object_actions.html"

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}_act"
        own = path("<path:object_id>/act/<slug:act>/", self.admin_site.admin_view(self.act_view), name=name)
        return [own, *super().get_urls()]

    def act_view(self, request: HttpRequest, object_id: str, act: str) -> HttpResponse:
        """Do one action to one row. Only by POST, only to those who may."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        rows = self.get_queryset(request).filter(pk=unquote(object_id))
        found = self.get_actions(request).get(act) if act in self.object_actions else None
        if found is None or not self.has_view_or_change_permission(request):
            raise PermissionDenied
        answer: Any = found[0](self, request, rows)
        if isinstance(answer, HttpResponse):
            return answer
        names = self.opts.app_label, self.opts.model_name
        if rows.exists():
            return HttpResponseRedirect(reverse("admin:{}_{}_change".format(*names), args=[object_id]))
        return HttpResponseRedirect(reverse("admin:{}_{}_changelist".format(*names)))

    def can_act(self, obj: Any, act: str) -> bool:
        """Return whether the button of `act` makes sense on the page of `obj` as it is."""
        return True

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> Any:
        if obj is not None and self.object_actions:
            allowed = self.get_actions(request)
            url = f"admin:{self.opts.app_label}_{self.opts.model_name}_act"
            context["object_actions"] = [
                {"url": reverse(url, args=[obj.pk, name]), "text": text}
                for name, text in self.object_actions.items()
                if name in allowed and self.can_act(obj, name)
            ]
        return super().render_change_form(request, context, add, change, form_url, obj)
