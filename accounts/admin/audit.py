"""The audit log: to read, to search, and nothing else."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.models import AuditEntry
from accounts.selectors.audit import entries_about, entries_of, entries_of_key, entries_with, people_named
from core.admin import ReadOnlyAdmin, stamp, text_block
from core.admin.paging import NextChangeList
from core.clock import now as clock_now

MOST_SHOWN = 160
_DAYS = {"1": _("Last day"), "7": _("Last 7 days"), "30": _("Last 30 days")}


class KindFilter(admin.SimpleListFilter):
    """What was acted on: every kind of thing that has a page here."""

    title = _("kind")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        kinds = {m._meta.model_name: m._meta.verbose_name for m in admin.site._registry if m is not AuditEntry}
        return sorted((str(name), title) for name, title in kinds.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(kind=self.value()) if self.value() else queryset


class SourceFilter(admin.SimpleListFilter):
    """Where it was asked for."""

    title = _("source")
    parameter_name = "source"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(source, source) for source in AuditEntry.SOURCES]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(source=self.value()) if self.value() else queryset


class SinceFilter(admin.SimpleListFilter):
    """Since when."""

    title = _("time")
    parameter_name = "days"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(_DAYS.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        days = self.value()
        return queryset.filter(at__gte=clock_now() - timedelta(days=int(days))) if days in _DAYS else queryset


class EntryList(NextChangeList):
    """Entries, with the people of one page named by one query."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        people = people_named({key for row in self.result_list for key in (row.who, row.whom)})
        for row in self.result_list:
            row.people = people


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """What operators and policy did, newest first. Nobody changes or removes an entry."""

    list_display = ("when", "act", "by", "source", "kind", "about", "of_whom", "changed")
    list_display_links = ("when", "act")
    list_select_related = ("of",)
    page_select_related = ("of",)
    list_filter = (KindFilter, SourceFilter, SinceFilter)
    search_fields = ("public_id",)
    search_ids = {"aud": "public_id"}
    ordering = ("-id",)
    fields = ("when", "act", "by", "source", "request_id", "kind", "about", "of_whom", "was", "became", "public_id")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[NextChangeList]:
        return EntryList

    def get_search_help(self) -> str:
        return str(_("an e-mail, the id of what was acted on, a request id, an act (user.access)"))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Return the newest entries that fit every word; each is looked up along an index."""
        for part in search_term.split():
            if "@" in part:
                queryset = queryset.filter(pk__in=entries_of(part))
            elif part.startswith("aud_"):
                queryset = queryset.filter(public_id=part)
            elif part.startswith("psn_"):
                queryset = queryset.filter(pk__in=entries_of_key(part))
            elif "." in part:
                queryset = queryset.filter(act=part)
            elif len(part) >= 32 and "_" not in part:
                queryset = entries_with(queryset, request_id=part)
            else:
                queryset = queryset.filter(pk__in=entries_about(part))
        return queryset, False

    @display(description=_("When"))
    def when(self, obj: AuditEntry) -> SafeString | str:
        return stamp(obj.at)

    @display(description=_("By"))
    def by(self, obj: AuditEntry) -> str:
        return _named(obj, obj.who) or "–"

    @display(description=_("Whose"))
    def of_whom(self, obj: AuditEntry) -> str:
        return _named(obj, obj.whom) or "–"

    @display(description=_("About"))
    def about(self, obj: AuditEntry) -> str:
        of = getattr(obj, "of", None)
        return (of.public_id if of else obj.subject) or "–"

    @display(description=_("Before and after"))
    def changed(self, obj: AuditEntry) -> str:
        names = [*obj.before, *(name for name in obj.after if name not in obj.before)]
        told = ", ".join(f"{name}: {_said(obj.before, name)} → {_said(obj.after, name)}" for name in names)
        return told if len(told) <= MOST_SHOWN else f"{told[:MOST_SHOWN]}…"

    @display(description=_("Before"))
    def was(self, obj: AuditEntry) -> SafeString | str:
        return text_block(json.dumps(obj.before, indent=1, ensure_ascii=False)) if obj.before else "–"

    @display(description=_("After"))
    def became(self, obj: AuditEntry) -> SafeString | str:
        return text_block(json.dumps(obj.after, indent=1, ensure_ascii=False)) if obj.after else "–"


def _named(entry: Any, key: str) -> str:
    """Return who the key stands for; the key itself when that person's row is erased."""
    people = getattr(entry, "people", None)
    person = (people_named([key]) if people is None else people).get(key)
    return person.email if person else key


def _said(values: dict[str, Any], name: str) -> str:
    return json.dumps(values[name], ensure_ascii=False) if name in values else "–"
