"""Whether the installation has an account yet."""

from __future__ import annotations

from accounts.models import User


def account_exists() -> bool:
    """Return whether anybody has an account: before that, only the set-up link leads anywhere."""
    return User.objects.exists()
