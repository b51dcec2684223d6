"""Who holds a permission of the product, read in bulk."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import Permission
from django.db.models import Exists, OuterRef, Q

from accounts.models import User

MAY = ("use_schedules", "create_schedules")


def permitted(user_ids: Collection[int], codename: str) -> set[int]:
    """Return those of `user_ids` who hold `codename` (`use_schedules`, `create_schedules`), in one query.

    Superusers hold everything. Inactive people are not filtered: being inactive is a fact of its own (gate row 3).
    """
    ids = list(user_ids)
    if not ids:
        return set()
    permission = Permission.objects.filter(content_type__app_label="accounts", codename=codename)
    direct = User.user_permissions.through.objects.filter(user_id=OuterRef("pk"), permission__in=permission)
    grouped = User.groups.through.objects.filter(user_id=OuterRef("pk"), group__permissions__in=permission)
    holders = User.objects.filter(pk__in=ids).filter(Q(is_superuser=True) | Exists(direct) | Exists(grouped))
    return set(holders.values_list("pk", flat=True))


def may(user: User, codename: str) -> bool:
    """Return whether `user` holds `codename`."""
    return user.pk in permitted([user.pk], codename)


def held(user: User) -> set[str]:
    """Return which of the product's permissions `user` holds."""
    return {codename for codename in MAY if may(user, codename)}
