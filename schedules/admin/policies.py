"""Project policies, kept here because their preview counts schedules: what a pin redirects, what it blocks."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget, UnfoldBooleanSwitchWidget

from accounts.models import User
from core.admin import OperatorAdmin, OperatorForm, inherits_when_empty
from core.errors import Refusal
from core.human import say
from projects.models import ProjectPolicy
from projects.services import policy_set
from projects.services.forgetting import policy_forget
from schedules.services.impact import MOST_SCHEDULES, Impact, policy_impact


class PolicyForm(OperatorForm):
    """Requirement and pin of one scope. Saving shows first what would change; saving again does it."""

    pin = forms.ChoiceField(
        label=_("Pin"),
        widget=UnfoldAdminSelectWidget(),
        choices=[
            ("inherit", _("Inherit")),
            ("none", _("No pin here")),
            ("pin", _("Pinned to the project named below")),
        ],
    )
    pinned_name = forms.CharField(
        label=_("Pinned project"),
        required=False,
        max_length=1000,
        widget=UnfoldAdminTextInputWidget(),
        help_text=_("Its name. For the deployment and groups it is looked for among each owner’s own projects."),
    )
    create_missing = forms.BooleanField(
        label=_("Make it where it is missing"),
        required=False,
        widget=UnfoldBooleanSwitchWidget(),
        help_text=_("For everybody of this scope who has no project of that name."),
    )
    previewed = forms.CharField(required=False, widget=forms.HiddenInput())

    class Meta:
        model = ProjectPolicy
        fields = ("scope", "group", "user", "require_project")
        labels = {"require_project": _("Project required")}
        help_texts = {"require_project": _("Where it is, schedules without a project are refused and blocked.")}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        inherits_when_empty(self.fields.get("require_project"))
        row = self.instance
        if row.pk and "pin" in self.fields:
            name = row.pinned_project.name if row.pinned_project else row.pinned_name
            self.initial["pin"] = "inherit" if name is None else "pin" if name else "none"
            self.initial["pinned_name"] = name or ""

    def clean(self) -> dict[str, Any]:
        """Ask for a second look when schedules would be redirected or blocked by what was typed."""
        data = super().clean() or {}
        if self.errors:
            return data
        needed = "pinned_name" if data["pin"] == "pin" and not data["pinned_name"].strip() else ""
        where = self.asked(data)
        if where["scope"] in ("group", "user") and where[where["scope"]] is None:
            needed = where["scope"]
        if needed:
            self.add_error(needed, say("required"))
            return data
        try:
            self.impact = policy_impact(**where, create_missing=data["create_missing"])
        except Refusal as refusal:
            self.add_error("pinned_name", say(refusal.code, refusal.params))
            return data
        asked = repr((sorted(self.values(data).items()), data["create_missing"]))
        if self.impact and data["previewed"] != asked:
            self.data = {**self.data.dict(), "previewed": asked}  # type: ignore[attr-defined]
            self.add_error(None, said(self.impact))
        return data

    def values(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return requirement and pin as the service takes them."""
        pin = {"inherit": None, "none": "", "pin": data["pinned_name"].strip()}[data["pin"]]
        return {"require_project": data.get("require_project"), "pinned_project": pin}

    def asked(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return scope and values; the scope of a stored policy is what it is."""
        row = self.instance
        where = {name: getattr(row, name) if row.pk else data.get(name) for name in ("scope", "group", "user")}
        scope = where["scope"]
        return {
            "scope": scope,
            "group": where["group"] if scope == "group" else None,
            "user": where["user"] if scope == "user" else None,
            "values": self.values(data),
        }


def said(impact: Impact) -> str:
    """Say what saving would do to schedules that are on."""
    words = {"redirected": f"{impact.redirected:,}", "blocked": f"{impact.blocked:,}"}
    text = str(_("Of the schedules that are on, %(redirected)s would file into another project and %(blocked)s would be "
                 "blocked at their next run. Save once more to do it.")) % words  # fmt: skip
    if not impact.bounded:
        return text
    return f"{text} {str(_('Only the first %(most)s were looked at.')) % {'most': f'{MOST_SCHEDULES:,}'}}"


@admin.register(ProjectPolicy)
class ProjectPolicyAdmin(OperatorAdmin):
    """Requirement and pin."""

    form = PolicyForm
    list_display = ("of", "scope", "require_project", "pin_shown")
    list_select_related = ("group", "user", "pinned_project")
    page_select_related = ("group", "user", "pinned_project")
    list_filter = ("scope",)
    search_fields = ("user__email",)
    search_owner = "user"
    ordering = ("scope", "id")
    autocomplete_fields = ("user", "group")
    deletable = True
    noted_by_service = True
    delete_warning = _("Requirement and pin are inherited from then on.")

    @display(description=_("Of"))
    def of(self, obj: ProjectPolicy) -> str:
        return str(obj.group or obj.user or _("The deployment"))

    @display(description=_("Pin"))
    def pin_shown(self, obj: ProjectPolicy) -> str:
        name = obj.pinned_project.name if obj.pinned_project else obj.pinned_name
        return str(_("Inherit") if name is None else name or _("No pin here"))

    def get_fields(self, request: HttpRequest, obj: ProjectPolicy | None = None) -> Any:
        owner = ("group", "user") if obj is None else {"group": ("group",), "user": ("user",)}.get(obj.scope, ())
        return ("scope", *owner, "require_project", "pin", "pinned_name", "create_missing", "previewed")

    def get_readonly_fields(self, request: HttpRequest, obj: ProjectPolicy | None = None) -> Any:
        return ("scope", "group", "user") if obj is not None else ()

    def write(self, request: HttpRequest, obj: Any, form: Any, change: bool, now: datetime) -> ProjectPolicy:
        data = form.cleaned_data
        actor = request.user if isinstance(request.user, User) else None
        row = policy_set(**form.asked(data), create_missing=data["create_missing"], actor=actor, now=now)
        if form.impact:
            words = {"redirected": f"{form.impact.redirected:,}", "blocked": f"{form.impact.blocked:,}"}
            text = _("%(redirected)s schedules file elsewhere now, %(blocked)s are blocked at their next run.") % words
            self.message_user(request, text, messages.WARNING)
        return row

    def erase(self, request: HttpRequest, obj: Any, now: datetime) -> None:
        policy_forget(row=obj, actor=request.user if isinstance(request.user, User) else None, now=now)
