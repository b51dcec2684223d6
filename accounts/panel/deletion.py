"""`/settings/deletion/`: what goes with the account, the request, and the page of the grace."""

from __future__ import annotations

from typing import Any, cast

from allauth.core import ratelimit
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from accounts.outputs import export_answer
from accounts.panel.forms import errors_of
from accounts.selectors.deletions import deletion_of, what_goes
from accounts.services.deletion import deletion_cancel, deletion_hasten, deletion_request, proof_check
from accounts.services.exporting import export_bytes
from core.errors import Refusal
from core.panel import done, face, reader_of

_SHOWN = ("schedules", "running_turns", "runs", "conversations", "projects", "tokens")


@face
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """Show what would go, or, while the deletion is in force, how to call it off."""
    return _page(request)


@sensitive_post_parameters("password", "code")
@face
@require_POST
def request_it(request: HttpRequest) -> HttpResponse:
    """Ask for the deletion of one's account."""
    user, now = cast(User, request.user), reader_of(request).now
    try:
        _proved(request)
        deletion_request(user=user, actor=user, even_last=request.POST.get("even_last") == "on", now=now)
    except Refusal as refusal:
        return _page(request, refusal)
    return done(request, to=reverse("accounts:deletion"), text=_("Everything of yours is on hold now."), leave=True)


@face
@require_POST
def cancel(request: HttpRequest) -> HttpResponse:
    """Keep the account."""
    user, now = cast(User, request.user), reader_of(request).now
    deletion_cancel(user=user, actor=user, now=now)
    text = _("Your account stays. Everything is as it was.")
    return done(request, to=reverse("accounts:deletion"), text=text, leave=True)


@sensitive_post_parameters("password", "code")
@face
@require_POST
def hasten(request: HttpRequest) -> HttpResponse:
    """End the grace now, and sign out: the account is erased next."""
    user, now = cast(User, request.user), reader_of(request).now
    try:
        _proved(request)
        deletion_hasten(user=user, actor=user, now=now)
    except Refusal as refusal:
        return _page(request, refusal)
    logout(request)
    return done(request, to=reverse("account_login"), text=_("Your account is being erased."), leave=True)


@face
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    """Take everything along as one zip."""
    now = reader_of(request).now
    return export_answer(export_bytes(user=cast(User, request.user), now=now), now)


def _proved(request: HttpRequest) -> None:
    """Ask once more who it is. Raises Refusal `rate_limited` after ten tries in a minute."""
    user = cast(User, request.user)
    if not ratelimit.consume(request, action="reauthenticate", user=user):
        raise Refusal("rate_limited", retry_after=60)
    proof_check(user=user, password=request.POST.get("password", ""), code=request.POST.get("code", ""))


def _page(request: HttpRequest, refusal: Refusal | None = None) -> HttpResponse:
    """Show the page; a refusal without a field is said above the form."""
    user, reader = cast(User, request.user), reader_of(request)
    found = deletion_of(user.pk)
    context = {
        "state": found.state if found else "",
        "until": reader.stamp(found.not_before) if found else None,
        "over": found is not None and found.not_before <= reader.now,
        "goes": _words(what_goes(user.pk)),
        "days": settings.DELETION_GRACE_DAYS,
        "second_factor": is_mfa_enabled(user),
        "last": refusal is not None and refusal.code == "last_operator",
        "refusal": refusal.text if refusal and not refusal.fields else "",
        "errors": errors_of(refusal),
        "here": "settings",
    }
    return render(request, "accounts/deletion.html", context, status=refusal.status if refusal else 200)


def _words(goes: dict[str, int]) -> list[str]:
    named: dict[str, Any] = {
        "schedules": lambda n: ngettext("%(n)s schedule", "%(n)s schedules", n),
        "running_turns": lambda n: ngettext(
            "%(n)s answer that is being written", "%(n)s answers that are being written", n
        ),
        "runs": lambda n: ngettext("%(n)s run of the ledger", "%(n)s runs of the ledger", n),
        "conversations": lambda n: ngettext("%(n)s conversation", "%(n)s conversations", n),
        "projects": lambda n: ngettext("%(n)s project", "%(n)s projects", n),
        "tokens": lambda n: ngettext("%(n)s token", "%(n)s tokens", n),
    }
    return [named[name](goes.get(name, 0)) % {"n": goes.get(name, 0)} for name in _SHOWN]
