"""Whether an operator may read what people and agents wrote; each reading leaves an entry in the audit log."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from core.admin import ReadOnlyAdmin, text_block

PERMISSION = "chats.view_message_text"
HIDDEN = _("Hidden. It takes the permission “Can read what people and agents wrote”.")


class WithText(ReadOnlyAdmin):
    """A page with text of people on it: hidden without the permission, logged with it."""

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        found = super().get_object(request, object_id, from_field)
        if found is not None:
            found.text_shown = request.user.has_perm(PERMISSION)
        return found

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> Any:
        if obj is not None and obj.text_shown:
            self.note(request, "read", obj)
        return super().render_change_form(request, context, add, change, form_url, obj)

    @staticmethod
    def text_or_hidden(obj: Any, text: str) -> SafeString | str:
        """Return `text` for those who may read it, else why it is not there."""
        return text_block(text) if getattr(obj, "text_shown", False) else str(HIDDEN)
