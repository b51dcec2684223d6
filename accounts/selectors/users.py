"""Reads of people."""

from __future__ import annotations

from django.contrib.auth.models import Group

from accounts.models import User
from core.errors import Refusal


def user_named(email: str) -> User:
    """Return the account with this e-mail, whatever the case. Raises Refusal `account_not_found` at `email`."""
    user = User.objects.with_email(email.strip()).first()
    if user is None:
        raise Refusal.at("email", "account_not_found", email=email)
    return user


def group_named(name: str) -> Group:
    """Return the group of this name. Raises Refusal `group_not_found` at `group`."""
    group = Group.objects.filter(name=name).first()
    if group is None:
        raise Refusal.at("group", "group_not_found", name=name)
    return group
