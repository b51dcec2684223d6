"""Conversations: where they belong and when they moved; what was said only for those who may read it."""

from __future__ import annotations

from django.contrib import admin
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from chats.admin.reading import HIDDEN, WithText
from chats.models import Conversation, Message
from core.admin import link, stamp

MOST_MESSAGES = 100


@admin.register(Conversation)
class ConversationAdmin(WithText):
    """Conversations of everybody."""

    list_display = ("__str__", "owner", "project", "origin", "moved", "made")
    list_select_related = ("owner", "project")
    page_select_related = ("owner", "project", "agent")
    search_fields = ("public_id",)
    search_ids = {"cnv": "public_id"}
    search_owner = "owner"
    search_text = "title"
    ordering = ("-id",)
    fields = (
        "title", "owner", "project", "agent", "origin", "public_id", "made", "moved", "archived", "deleted",
        "its_turns", "said",
    )  # fmt: skip

    @display(description=_("Made"))
    def made(self, obj: Conversation) -> SafeString | str:
        return stamp(obj.created_at)

    @display(description=_("Last change"))
    def moved(self, obj: Conversation) -> SafeString | str:
        return stamp(obj.updated_at)

    @display(description=_("Archived"))
    def archived(self, obj: Conversation) -> SafeString | str:
        return stamp(obj.archived_at)

    @display(description=_("Deleted"))
    def deleted(self, obj: Conversation) -> SafeString | str:
        return stamp(obj.deleted_at)

    @display(description=_("Turns"))
    def its_turns(self, obj: Conversation) -> SafeString:
        return link(f"{reverse('admin:chats_turn_changelist')}?q={obj.public_id}", _("Turns of this conversation"))

    @display(description=_("Messages"))
    def said(self, obj: Conversation) -> SafeString | str:
        """Show the newest messages, oldest first."""
        if not getattr(obj, "text_shown", False):
            return str(HIDDEN)
        newest = Message.objects.filter(conversation=obj).order_by("-sequence")
        newest = newest.only("role", "text", "state", "created_at", "sequence")[: MOST_MESSAGES + 1]
        rows = list(newest)
        context = {"messages": rows[:MOST_MESSAGES][::-1], "more": len(rows) > MOST_MESSAGES, "most": MOST_MESSAGES}
        return render_to_string("admin/chats/messages.html", context)
