"""People and groups: accounts are made, switched off and given rights here; nobody is erased here."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from allauth.mfa.utils import is_mfa_enabled
from django import forms
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import display
from unfold.widgets import UnfoldAdminPasswordWidget

from accounts.models import User
from accounts.services.access import SWITCHES, access_set, may_set_password, password_set
from accounts.services.sessions import second_factor_remove
from accounts.services.users import profile_edit, user_create
from core.admin import Noting, OperatorAdmin, OperatorForm, act_on, link, stamp
from core.admin.paging import NextChangeList
from core.clock import now as clock_now
from core.errors import Refusal

PROFILE = ("display_name", "zone", "locale", "clock", "first_weekday", "theme")
OUR_APPS = ("accounts", "projects", "agents", "chats", "schedules")


def product_permissions() -> QuerySet[Permission]:
    """Return what may be given: the product's own permissions, not those of packages."""
    return Permission.objects.filter(content_type__app_label__in=OUR_APPS).select_related("content_type")


class UserForm(OperatorForm):
    """A person; the password is written only, never shown."""

    refusal_fields = {"password": "new_password"}
    new_password = forms.CharField(
        label=_("New password"),
        required=False,
        strip=False,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text=_("Left empty, the password stays. A new one signs the person out everywhere."),
    )

    class Meta:
        model = User
        fields = ("email", *PROFILE, *SWITCHES, "groups", "user_permissions")
        labels = {
            "email": _("E-mail"), "is_active": _("May sign in"), "is_staff": _("Operator"),
            "is_superuser": _("All rights"), "user_permissions": _("Rights"),
        }  # fmt: skip
        help_texts = {
            "is_active": _("Switched off, nothing of theirs fires either. Nothing is deleted."),
            "is_staff": _("May open these pages, as far as their rights go."),
            "is_superuser": _("May see and change everything here."),
            "groups": "",
            "user_permissions": "",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance._state.adding:
            self.fields["new_password"].required = True
            self.fields["new_password"].label = _("Password")
            self.fields["new_password"].help_text = _("12 characters at least.")

    def _get_validation_exclusions(self) -> set[str]:
        """Leave to the service, which says it at the field, that an e-mail is taken."""
        return {*super()._get_validation_exclusions(), "email"}  # type: ignore[misc]


@admin.register(User)
class UserAdmin(OperatorAdmin):
    """People."""

    form = UserForm
    list_display = ("email", "display_name", "operator", "is_active", "zone", "joined")
    list_filter = ("is_active", "is_staff", "groups")
    search_fields = ("email",)
    search_ids = {"usr": "public_id"}
    search_owner = "pk"
    search_text = "email"
    noted_by_service = True
    ordering = ("-id",)
    autocomplete_fields = ()
    filter_horizontal = ("user_permissions",)
    readonly_fields = ("public_id", "last_login", "joined", "theirs", "second_factor")
    actions = ("drop_second_factor",)
    object_actions = {"drop_second_factor": _("Remove second factor")}
    add_fieldsets = ((None, {"fields": ("email", "new_password", "display_name", "zone", "is_staff")}),)
    fieldsets = (
        (None, {"fields": ("email", "display_name", "public_id", "joined", "last_login", "theirs")}),
        (_("Access"), {"fields": ("new_password", "second_factor", *SWITCHES, "groups", "user_permissions")}),
        (_("How times and pages are shown"), {"fields": ("zone", "locale", "clock", "first_weekday", "theme")}),
    )

    @display(description=_("Operator"), boolean=True)
    def operator(self, obj: User) -> bool:
        return obj.is_staff

    @display(description=_("Joined"), ordering="date_joined")
    def joined(self, obj: User) -> SafeString | str:
        return stamp(obj.date_joined)

    @display(description=_("Second factor"), boolean=True)
    def second_factor(self, obj: User) -> bool:
        return is_mfa_enabled(obj)

    def can_act(self, obj: User, act: str) -> bool:
        return is_mfa_enabled(obj)

    @admin.action(description=_("Remove the second factor of selected"), permissions=["change"])
    def drop_second_factor(self, request: HttpRequest, queryset: QuerySet[User]) -> None:
        """Let people who lost theirs in with their password alone; an operator's only by who holds all rights."""
        now, by = clock_now(), _operator(request)

        def removed(user: User) -> bool:
            if not may_set_password(by, user):
                raise Refusal("permission_denied")
            return second_factor_remove(user=user, actor=by, now=now)

        act_on(self, request, queryset, removed, verb="second_factor", did=str(_("Removed")))

    @display(description=_("Theirs"))
    def theirs(self, obj: User) -> SafeString:
        """Link to what belongs to the person, found by their e-mail."""
        lists = {
            _("Schedules"): "schedules_schedule",
            _("Runs"): "schedules_run",
            _("Conversations"): "chats_conversation",
            _("Projects"): "projects_chatproject",
            _("Tokens"): "accounts_apitoken",
            _("Notices"): "accounts_notice",
        }
        query = urlencode({"q": obj.email})
        rows = ((link(f"{reverse(f'admin:{name}_changelist')}?{query}", text),) for text, name in lists.items())
        return format_html_join(" · ", "{}", rows)

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "user_permissions":
            kwargs["queryset"] = product_permissions()
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Leave out the password of a fellow operator, which only those set who hold all rights."""
        shown = super().get_fieldsets(request, obj)
        if obj is None or may_set_password(_operator(request), obj):
            return shown
        return [
            (title, options | {"fields": tuple(name for name in options["fields"] if name != "new_password")})
            for title, options in shown
        ]

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Rights are given by those who hold all of them; an e-mail is what an account is."""
        fixed = [*super().get_readonly_fields(request, obj)]
        if obj is not None:
            fixed.append("email")
        if not request.user.is_superuser:
            fixed += ["is_staff", "is_superuser", "groups", "user_permissions"]
        return fixed

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Nobody without all rights changes somebody who holds them."""
        over = obj is not None and obj.is_superuser and not request.user.is_superuser
        return not over and super().has_change_permission(request, obj)

    def write(self, request: HttpRequest, obj: Any, form: Any, change: bool, now: datetime) -> User:
        data = form.cleaned_data
        if not change:
            return user_create(
                email=data["email"],
                password=data["new_password"],
                display_name=data.get("display_name", ""),
                zone=data.get("zone") or None,
                operator=bool(data.get("is_staff")) and request.user.is_superuser,
                actor=_operator(request),
                now=now,
            )
        user = User.objects.get(pk=obj.pk)
        values = {name: data[name] for name in PROFILE if name in form.changed_data}
        profile_edit(user=user, values=values, actor=_operator(request), now=now)
        self._write_access(request, user, form, now)
        if data.get("new_password"):
            password_set(user=user, password=data["new_password"], actor=_operator(request), now=now)
        return user

    def _write_access(self, request: HttpRequest, user: User, form: Any, now: datetime) -> None:
        data: Mapping[str, Any] = form.cleaned_data
        switched = {name: data[name] for name in SWITCHES if name in form.changed_data}
        given = {
            name: list(data[field])
            for name, field in (("groups", "groups"), ("permissions", "user_permissions"))
            if field in form.changed_data
        }
        if not request.user.is_superuser and (given or switched.keys() - {"is_active"}):
            raise Refusal("permission_denied")
        if switched or given:
            access_set(user=user, values=switched, actor=_operator(request), now=now, **given)


def _operator(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(Noting, ModelAdmin):
    """Groups, with the product's own permissions only."""

    list_display = ("name",)
    search_fields = ("name",)
    filter_horizontal = ("permissions",)
    ordering = ("name",)
    audited = ("name", "permissions")

    def values_of(self, pk: Any) -> dict[str, Any]:
        """Return the group's name and the codenames of its permissions."""
        group = Group.objects.filter(pk=pk).first()
        codes = Permission.objects.filter(group=pk).order_by("codename").values_list("codename", flat=True)
        return {"name": group.name, "permissions": list(codes)} if group else {}

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        request.audit_before = self.values_of(obj.pk)  # type: ignore[attr-defined]
        super().save_model(request, obj, form, change)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[NextChangeList]:
        return NextChangeList

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "permissions":
            kwargs["queryset"] = product_permissions()
        return super().formfield_for_manytomany(db_field, request, **kwargs)
