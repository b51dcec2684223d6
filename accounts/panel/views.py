"""The first account, the start page, and how the pages look to a person."""

from __future__ import annotations

from typing import Any, cast

from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.dates import WEEKDAYS
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from accounts.panel.forms import errors_of
from accounts.selectors.setup import account_exists
from accounts.services.sessions import session_noted
from accounts.services.users import profile_edit, setup_complete, setup_link_open
from core.clock import now as clock_now
from core.errors import Refusal
from core.panel import done, face, reader_of, refused, where_from
from core.walltime import zone_names

_THEMES = ("system", "light", "dark")


@never_cache
@require_safe
def start(request: HttpRequest) -> HttpResponse:
    """`/`: to the schedules; before there is any account, a hint where the set-up link is."""
    if request.user.is_authenticated or account_exists():
        return HttpResponseRedirect(reverse("schedules:panel"))
    return render(request, "accounts/first.html")


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def setup(request: HttpRequest, token: str) -> HttpResponse:
    """`/setup/<token>`: make the first account, once, and sign in with it."""
    now = clock_now()
    if not setup_link_open(token=token, now=now):
        return refused(request, Refusal("setup_link_invalid"))
    if request.method == "GET":
        return _setup_form(request, {"zone": "UTC"})
    typed = {name: request.POST.get(name, "") for name in ("email", "password", "zone")}
    try:
        user = setup_complete(token=token, now=now, **typed)
    except Refusal as refusal:
        if not refusal.fields:
            return refused(request, refusal)
        return _setup_form(request, typed, refusal)
    return _entered(request, user)


@face
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Choose the appearance: as the system, light or dark."""
    wanted = request.POST.get("theme", "")
    if wanted not in _THEMES:
        raise Refusal.at("theme", "choice_unknown", choices=", ".join(_THEMES))
    profile_edit(user=cast(User, request.user), values={"theme": wanted})
    return done(request, to=where_from(request, reverse("schedules:panel")), leave=True)


@face
@require_http_methods(["GET", "HEAD", "POST"])
def preferences(request: HttpRequest) -> HttpResponse:
    """`/settings/`: name, time zone, clock, first weekday, appearance."""
    user = cast(User, request.user)
    if request.method == "GET":
        return _preferences_form(request, {name: getattr(user, name) for name in _PREFERENCES})
    typed = {name: request.POST.get(name, "") for name in _PREFERENCES}
    try:
        profile_edit(user=user, values=_checked(typed))
    except Refusal as refusal:
        return _preferences_form(request, typed, refusal)
    return done(request, to=reverse("accounts:settings"), text=_("Your settings are saved."))


_PREFERENCES = ("display_name", "zone", "clock", "first_weekday", "theme")


def _entered(request: HttpRequest, user: User) -> HttpResponse:
    login(request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
    session_noted(request)
    return HttpResponseRedirect(reverse("schedules:panel"), status=303)


def _checked(typed: dict[str, str]) -> dict[str, Any]:
    allowed = {"clock": ("24", "12"), "theme": _THEMES, "first_weekday": tuple("0123456")}
    for name, choices in allowed.items():
        if typed[name] not in choices:
            raise Refusal.at(name, "choice_unknown", choices=", ".join(choices))
    return typed | {"first_weekday": int(typed["first_weekday"])}


def _setup_form(request: HttpRequest, values: dict[str, str], refusal: Refusal | None = None) -> HttpResponse:
    context = {"v": values, "errors": errors_of(refusal), "zones": _zones(), "action": request.path}
    return render(request, "accounts/setup.html", context, status=refusal.status if refusal else 200)


def _preferences_form(request: HttpRequest, values: dict[str, Any], refusal: Refusal | None = None) -> HttpResponse:
    context = {
        "v": values,
        "errors": errors_of(refusal),
        "zones": _zones(),
        "clocks": [("24", _("24 hours, 18:00")), ("12", _("12 hours, 6:00 PM"))],
        "weekdays": [(number, str(name)) for number, name in WEEKDAYS.items()],
        "themes": [("system", _("As the system")), ("light", _("Light")), ("dark", _("Dark"))],
        "reader": reader_of(request),
        "here": "settings",
    }
    return render(request, "accounts/settings.html", context, status=refusal.status if refusal else 200)


def _zones() -> list[tuple[str, str]]:
    return [(name, name.replace("_", " ")) for name in sorted(zone_names())]
