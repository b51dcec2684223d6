"""Every act on a page of operators leaves an entry in the audit log, in the transaction of the act."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.admin import ModelAdmin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from core.clock import now as clock_now
from core.registry import audited

HIDDEN = "…"
ADDED, CHANGED, REMOVED = "added", "changed", "removed"


class Noting(ModelAdmin):
    """Writes the audit log where Django would write its own, which holds names and texts of people (A6)."""

    audited: tuple[str, ...] = ()
    """Columns whose values an entry shows: numbers, switches, states; of others it says only that they changed."""
    noted_by_service = False
    """Whether the services write the entries of these rows themselves, so that none is written twice."""

    def note(
        self,
        request: HttpRequest,
        verb: str,
        row: Any,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
    ) -> None:
        """Write that the operator who asks did `verb` to `row`; of `before` and `after` only what differs."""
        was, become = dict(before or {}), dict(after or {})
        for name in was.keys() & become.keys():
            if was[name] == become[name]:
                del was[name], become[name]
        act = f"{self.opts.model_name}.{verb}"
        audited(act=act, actor=request.user, subject=row, before=was, after=become, now=clock_now())

    def values_of(self, pk: Any) -> dict[str, Any]:
        """Return the columns that an entry shows, as they are stored now."""
        if not self.audited:
            return {}
        return dict(self.model._base_manager.filter(pk=pk).values(*self.audited).first() or {})

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        if not self.noted_by_service:
            self.note(request, ADDED, obj, {}, self.values_of(obj.pk))

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Note what changed; `message` is Django's list of fields, empty when nothing did."""
        if self.noted_by_service or not message:
            return
        was = getattr(request, "audit_before", {})
        changed = {name for part in message for name in part.get("changed", {}).get("names", ())}
        hidden = dict.fromkeys(sorted(changed - {*self.audited}), HIDDEN)
        self.note(request, CHANGED, obj, was, self.values_of(obj.pk) | hidden)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        if not self.noted_by_service:
            for row in queryset:
                self.note(request, REMOVED, row, self.values_of(row.pk))

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        """Return the names of the columns that were typed into, not their words."""
        names = list(getattr(form, "changed_data", ()))
        return [{"changed": {"names": names}}] if names or add else []

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show what the audit log knows of the row."""
        row = self.get_object(request, object_id)
        known = str(getattr(row, "email", "") or getattr(row, "public_id", "") or object_id)
        query = f"?kind={self.opts.model_name}&q={known}"
        return HttpResponseRedirect(reverse("admin:accounts_auditentry_changelist") + query)
