"""What allauth asks the product: who may sign up, how an account is made, how secrets of a second factor are kept."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from accounts.models import User
from accounts.selectors.deletions import deleting
from accounts.selectors.setup import account_exists
from accounts.services.audit import audit
from accounts.services.users import user_create
from core.clock import now as clock_now
from core.crypto import seal, unseal
from core.errors import Refusal
from core.panel import refused

NOWHERE = "0.0.0.0"
"""Stands for an address that nobody told, as behind a socket file without `TRUSTED_PROXIES`."""


class AccountAdapter(DefaultAccountAdapter):
    """Accounts are made by our service, whoever asks: by operators, or by sign-up where `SIGN_UP` opens it."""

    def is_open_for_signup(self, request: object) -> bool:
        """Return whether anybody may make an account; the first one is made by the set-up link alone."""
        return bool(settings.SIGN_UP) and account_exists()

    def save_user(self, request: HttpRequest, user: Any, form: Any, commit: bool = True) -> User:
        """Make the account that the form asks for; somebody else may have taken the e-mail this instant."""
        data = form.cleaned_data
        try:
            return user_create(email=data["email"], password=data["password1"], now=clock_now())
        except Refusal as refusal:
            raise ImmediateHttpResponse(refused(request, refusal)) from refusal

    def post_login(self, request: HttpRequest, user: Any, **kwargs: Any) -> HttpResponse:
        """Lead somebody whose account is being deleted to where that is called off, wherever they wanted to go."""
        response = super().post_login(request, user, **kwargs)
        return HttpResponseRedirect(reverse("accounts:deletion")) if deleting([user.pk]) else response

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        """Go back to where the change began."""
        return reverse("accounts:access")

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address that the limits count: what the outermost of our proxies saw, else who connects here."""
        seen = [part.strip() for part in request.headers.get("X-Forwarded-For", "").split(",") if part.strip()]
        behind = settings.TRUSTED_PROXIES
        named = seen[-behind] if 0 < behind <= len(seen) else request.META.get("REMOTE_ADDR", "")
        try:
            return str(ip_address(named))
        except ValueError:
            return NOWHERE

    def set_password(self, user: Any, password: str) -> None:
        """Change a password by its owner, by the old one or by a mailed link, and note that it was changed."""
        with transaction.atomic():
            super().set_password(user, password)
            audit(act="user.password", actor=user, subject=user, now=clock_now())


class SecondFactorAdapter(DefaultMFAAdapter):
    """Secrets of second factors are kept encrypted, as keys of providers are."""

    def encrypt(self, text: str) -> str:
        return seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        return unseal(encrypted_text)
