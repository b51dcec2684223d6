"""People: who signs in, and the one-time link that makes the first of them."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models
from django.db.models import Value
from django.db.models.functions import Lower

from core.clock import now as clock_now
from core.ids import new_id


def _user_id() -> str:
    return new_id("usr")


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **extra: Any) -> User:
        """Create a person with a normalised e-mail; `accounts/services` is what faces call.

        Django's own `createsuperuser` comes here directly and gives no `date_joined`.
        """
        user = self.model(email=self.normalize_email(email), **{"date_joined": clock_now(), **extra})
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **extra: Any) -> User:
        return self.create_user(email, password, is_staff=True, is_superuser=True, **extra)

    def get_by_natural_key(self, username: str | None) -> User:
        return self.with_email(username or "").get()

    def with_email(self, email: str) -> models.QuerySet[User]:
        """Return the person with this e-mail, whatever the case, in the form that the unique index serves."""
        return self.alias(email_key=Lower("email")).filter(email_key=Lower(Value(email)))


class User(AbstractBaseUser, PermissionsMixin):  # type: ignore[django-manager-missing]  # knox names no manager for its reverse side
    """A person. The e-mail is the login; the zone and the locale decide how times are read and shown.

    `on_credit` and `budgeted` say that what they spend is counted: their turns start one at a time.
    """

    public_id = models.CharField(max_length=40, unique=True, default=_user_id, editable=False)
    email = models.EmailField()
    display_name = models.CharField(max_length=100, blank=True)
    zone = models.CharField(max_length=64, default="UTC")
    locale = models.CharField(max_length=16, default="en")
    clock = models.CharField(max_length=2, default="24", choices=[("24", "24 h"), ("12", "12 h")])
    first_weekday = models.PositiveSmallIntegerField(default=0, help_text="0 is Monday, 6 is Sunday.")
    theme = models.CharField(
        max_length=6, default="system", choices=[("system", "System"), ("light", "Light"), ("dark", "Dark")]
    )
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False, help_text="An operator: may open the admin.")
    date_joined = models.DateTimeField(editable=False)
    on_credit = models.BooleanField(default=False, db_default=False, editable=False, help_text="Has a credit balance.")
    budgeted = models.BooleanField(
        default=False, db_default=False, editable=False, help_text="A schedule has, or had, a budget of its own."
    )

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_unique")]
        permissions = [
            ("use_schedules", "Can see schedules and keep them firing"),
            ("create_schedules", "Can create, edit, enable and run schedules"),
        ]

    def __str__(self) -> str:
        return self.display_name or self.email

    @property
    def called(self) -> str:
        """Return the name shown to other people."""
        return self.display_name or self.email.split("@")[0]


class SetupLink(models.Model):
    """The one-time link that makes the first operator; only its digest is kept."""

    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
