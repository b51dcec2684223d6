"""Worker hosts: whose clock ticks, whose drains live."""

from __future__ import annotations

from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from chats.models import WorkerHost
from core.admin import ReadOnlyAdmin, stamp


@admin.register(WorkerHost)
class WorkerHostAdmin(ReadOnlyAdmin):
    """One row per worker command."""

    list_display = ("name", "hostname", "started", "ticked", "drained", "cluster_restarts", "stopped")
    search_fields = ("name",)
    search_text = "name"
    ordering = ("-started_at", "-id")
    fields = list_display

    @display(description=_("Started"))
    def started(self, obj: WorkerHost) -> SafeString | str:
        return stamp(obj.started_at)

    @display(description=_("Clock ticked"))
    def ticked(self, obj: WorkerHost) -> SafeString | str:
        return stamp(obj.clock_at)

    @display(description=_("Drain seen"))
    def drained(self, obj: WorkerHost) -> SafeString | str:
        return stamp(obj.drain_at)

    @display(description=_("Stopping since"))
    def stopped(self, obj: WorkerHost) -> SafeString | str:
        return stamp(obj.stopped_at)
