"""The operators' site: one sign-in with the product, the operator's own zone, packages' pages tidied."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.admin import ModelAdmin
from django.contrib.auth import logout as auth_logout
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.urls import reverse
from django.utils import timezone
from unfold.admin import ModelAdmin as UnfoldModelAdmin
from unfold.sites import UnfoldAdminSite

from core.admin.noting import Noting
from core.human import zone_or_utc


class SuperusersOnly(Noting):
    """Pages of a package that operators without all rights do not need: they hold ids only."""

    def _allowed(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self._allowed(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._allowed(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._allowed(request)


class OperatorSite(UnfoldAdminSite):
    """The admin. Who is not signed in is sent to the product's sign-in; a member gets 403."""

    def register(
        self,
        model_or_iterable: type[Model] | Iterable[type[Model]],
        admin_class: type[ModelAdmin] | None = None,
        **options: Any,
    ) -> None:
        """Register as Django does, except that packages named in the settings are left out or kept for superusers."""
        models = [model_or_iterable] if isinstance(model_or_iterable, type) else list(model_or_iterable)
        for model in models:
            label = model._meta.app_label
            if label in settings.ADMIN_LEFT_OUT:
                continue
            shown = admin_class
            if label in settings.ADMIN_FOR_SUPERUSERS:
                bases = (SuperusersOnly, admin_class or ModelAdmin, UnfoldModelAdmin)
                shown = type(f"Superusers{model.__name__}Admin", bases, {"actions": None, "list_filter": ()})
            super().register(model, shown, **options)

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Callable[..., Any]:
        """Wrap a view: operators only, in their own time zone from reading the form to writing the page."""
        inner = super().admin_view(view, cacheable)

        @wraps(inner)
        def operators_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not self.has_permission(request):
                return self._turned_away(request)
            with timezone.override(zone_or_utc(getattr(request.user, "zone", "UTC"))):
                response = inner(request, *args, **kwargs)
                if hasattr(response, "render") and callable(response.render):
                    response.render()
            return response

        return operators_view

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Send people to the product's sign-in, operators on to where they wanted to go."""
        if self.has_permission(request):
            return HttpResponseRedirect(reverse("admin:index"))
        return self._turned_away(request)

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Sign out and show the product's sign-in page; a request that is not a POST changes nothing."""
        if request.method == "POST":
            auth_logout(request)
        return HttpResponseRedirect(resolve_url(settings.LOGIN_URL))

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Passwords are changed in one place for everybody."""
        return HttpResponseRedirect(reverse("account_change_password"))

    def _turned_away(self, request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated:
            raise PermissionDenied
        own_login = request.path == reverse("admin:login")
        wanted = request.GET.get("next", "") if own_login else request.get_full_path()
        return redirect_to_login(wanted or reverse("admin:index"), resolve_url(settings.LOGIN_URL))

    def _get_colors(self, key: str, *args: Any) -> dict[str, dict[str, str]]:
        """Colours come from `operators.css`: a style element in the page would need a weaker policy (CSP)."""
        return {}
