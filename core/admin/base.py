"""What every list and page of the operators' site is built on."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import ShowFacets, display
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import NON_FIELD_ERRORS
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.widgets import CHECKBOX_CLASSES

from core.admin.acting import Acting
from core.admin.noting import ADDED, CHANGED, HIDDEN, REMOVED, Noting
from core.admin.paging import NextChangeList, NextPaginator
from core.admin.searching import IndexedSearch
from core.clock import now as clock_now
from core.errors import Refusal
from core.human import say

_CLASSES = " ".join(["action-select", *CHECKBOX_CLASSES])
_BOX = '<input type="checkbox" name="{}" value="{}" class="{}" aria-label="{}">'
_TOGGLE = ModelAdmin.action_checkbox.short_description


class OperatorForm(forms.ModelForm):
    """A form whose last word is the service's: what it refuses stands at the field it concerns."""

    refusal: Refusal | None = None
    refusal_fields: dict[str, str] = {}
    """Where a path of the service has another name in the form."""

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]
        if self.refusal is None:
            return
        if not self.refusal.fields:
            self.add_error(None, say(self.refusal.code, self.refusal.params))
        for error in self.refusal.fields:
            name = self.refusal_fields.get(error.path, error.path)
            self.add_error(name if name in self.fields else NON_FIELD_ERRORS, say(error.code, error.params))


def inherits_when_empty(field: forms.Field | None) -> None:
    """Have a switch of three positions say what its middle one means."""
    if isinstance(field, forms.NullBooleanField):
        field.widget.choices = [("unknown", _("Inherit")), ("true", _("Yes")), ("false", _("No"))]  # type: ignore[attr-defined]


class OperatorAdmin(IndexedSearch, Acting, Noting, ModelAdmin):
    """A list that never counts, a page that writes through services, acts by POST, deletes by service.

    `deletable` says whether rows can go at all; `erase` is what is done then.
    """

    form = OperatorForm
    paginator = NextPaginator
    list_per_page = 40
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    list_disable_select_all = True
    page_select_related: tuple[str, ...] = ()
    empty_value_display = "–"
    deletable = False
    delete_warning: Any = ""

    @display(description=_TOGGLE)
    def action_checkbox(self, obj: Any) -> SafeString:
        """Write a row's box without a template: there is one in every row."""
        return format_html(_BOX, ACTION_CHECKBOX_NAME, obj.pk, _CLASSES, _("Select record"))

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[NextChangeList]:
        return NextChangeList

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Nothing: `save_model` has noted it, with what was there before."""

    log_change = log_addition

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        """Nothing: `delete_model` notes each row that goes, and none that stays."""

    @property
    def search_help_text(self) -> str:  # type: ignore[override]
        return self.get_search_help()

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Return one row with everything its page shows, in one query."""
        field: Any = self.opts.get_field(from_field) if from_field else self.opts.pk
        try:
            value = field.to_python(object_id)
            return self.get_queryset(request).select_related(*self.page_select_related).get(**{field.name: value})
        except (self.model.DoesNotExist, forms.ValidationError, ValueError, OverflowError):
            return None

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        made: Any = super().get_form(request, obj, change=change, **kwargs)
        made.refusal = getattr(request, "refusal", None)
        return made

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """Show or save; what a service refuses is shown in the form with everything that was typed."""
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except Refusal as refusal:
            request.refusal = refusal  # type: ignore[attr-defined]
            return super().changeform_view(request, object_id, form_url, extra_context)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Write through `write`, take over what it stored and note it."""
        before = self.values_of(obj.pk) if change else {}
        made = self.write(request, obj, form, change, clock_now())
        if made is not obj:
            obj.__dict__.update(made.__dict__)
        if self.noted_by_service or (change and not form.changed_data):
            return
        hidden = {name: HIDDEN for name in form.changed_data if change and name not in self.audited}
        self.note(request, CHANGED if change else ADDED, obj, before, self.values_of(obj.pk) | hidden)

    def write(self, request: HttpRequest, obj: Any, form: Any, change: bool, now: datetime) -> Any:
        """Call the service and return the stored row. Raises Refusal with the form's field names as paths."""
        raise NotImplementedError

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Nothing: the service has written what belongs to the row."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.deletable and super().has_delete_permission(request, obj)

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Return whether the operator may act on rows that nobody edits here (pause, stop)."""
        return request.user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}")

    def erase(self, request: HttpRequest, obj: Any, now: datetime) -> None:
        """Call the service that removes `obj`. Raises Refusal."""
        raise NotImplementedError

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Remove through `erase`, and note it."""
        with transaction.atomic():
            if not self.noted_by_service:
                self.note(request, REMOVED, obj, self.values_of(obj.pk))
            self.erase(request, obj, clock_now())

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Remove each by itself; what is refused stays and is said."""
        for row in queryset:
            try:
                self.delete_model(request, row)
            except Refusal as refusal:
                self.message_user(request, f"{row}: {say(refusal.code, refusal.params)}", messages.ERROR)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Ask, then remove through the service; a refusal is said on the row's page."""
        try:
            return super().delete_view(request, object_id, extra_context)
        except Refusal as refusal:
            self.message_user(request, say(refusal.code, refusal.params), messages.ERROR)
            name = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
            return HttpResponseRedirect(reverse(name, args=[object_id]))

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[Any, int], set[Any], list[Any]]:
        """Name what goes and what that means; the rows behind it are never collected."""
        rows = list(objs)
        named: list[Any] = [str(row) for row in rows]
        if self.delete_warning:
            named.append(self.delete_warning)
        return named, {self.opts.verbose_name_plural: len(rows)}, set(), []


class ReadOnlyAdmin(OperatorAdmin):
    """Rows that only the product writes: to look at, and to act on by buttons."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        codes = (f"{self.opts.app_label}.{verb}_{self.opts.model_name}" for verb in ("view", "change"))
        return any(request.user.has_perm(code) for code in codes)
