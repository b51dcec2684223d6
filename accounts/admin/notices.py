"""What people were told, and when."""

from __future__ import annotations

from django.contrib import admin
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.models import Notice
from core.admin import ReadOnlyAdmin, stamp
from core.human import say


@admin.register(Notice)
class NoticeAdmin(ReadOnlyAdmin):
    """The outbox: one row per event."""

    list_display = ("made", "user", "told", "subject", "read", "sent")
    list_display_links = ("made", "told")
    list_select_related = ("user",)
    page_select_related = ("user",)
    search_fields = ("subject",)
    search_owner = "user"
    ordering = ("-id",)
    fields = ("user", "code", "told", "subject", "made", "read", "sent", "dedupe_key")

    @display(description=_("Made"))
    def made(self, obj: Notice) -> SafeString | str:
        return stamp(obj.created_at)

    @display(description=_("Read"))
    def read(self, obj: Notice) -> SafeString | str:
        return stamp(obj.read_at)

    @display(description=_("Sent"))
    def sent(self, obj: Notice) -> SafeString | str:
        return stamp(obj.sent_at)

    @display(description=_("Told"))
    def told(self, obj: Notice) -> str:
        return say(obj.code, obj.params)
