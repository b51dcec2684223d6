"""People, their tokens, the numbers and switches that bind them, and what they are to be told."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import Group, PermissionsMixin
from django.db import models
from django.db.models import Q, Value
from django.db.models.functions import Lower
from knox.models import AbstractAuthToken, AuthTokenManager

from core.clock import now as clock_now
from core.ids import new_id


def _user_id() -> str:
    return new_id("usr")


def _token_id() -> str:
    return new_id("tok")


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
    """A person. The e-mail is the login; the zone and the locale decide how times are read and shown."""

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


class ApiTokenManager(AuthTokenManager):
    """Knox's manager: hashes the token and returns the secret once."""


class ApiToken(AbstractAuthToken):
    """A named token, hashed at rest (knox), shown once. `scopes` hold what it may do."""

    public_id = models.CharField(max_length=40, unique=True, default=_token_id, editable=False)
    name = models.CharField(max_length=100)
    scopes = models.JSONField(default=list)
    last_used_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[ApiTokenManager] = ApiTokenManager()

    def __str__(self) -> str:
        return self.name


class SetupLink(models.Model):
    """The one-time link that makes the first operator; only its digest is kept."""

    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)


class LimitSet(models.Model):
    """Numbers and switches for the deployment, a group or a user; null inherits, the most specific wins."""

    scope = models.CharField(max_length=10, choices=[(s, s) for s in ("deployment", "group", "user")])
    group = models.OneToOneField(Group, null=True, blank=True, on_delete=models.CASCADE)
    user = models.OneToOneField(User, null=True, blank=True, on_delete=models.CASCADE, related_name="limit_set")
    enabled = models.BooleanField(null=True, blank=True)
    max_schedules = models.PositiveIntegerField(null=True, blank=True)
    min_interval_seconds = models.PositiveIntegerField(null=True, blank=True)
    max_failures = models.PositiveIntegerField(null=True, blank=True)
    max_balance_skips = models.PositiveIntegerField(null=True, blank=True)
    max_concurrent = models.PositiveIntegerField(null=True, blank=True, help_text="Scheduled turns of one owner.")
    max_concurrent_turns = models.PositiveIntegerField(null=True, blank=True, help_text="All turns; deployment only.")
    daily_runs = models.PositiveIntegerField(null=True, blank=True)
    monthly_spend = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)
    updated_at = models.DateTimeField(editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["scope"], condition=Q(scope="deployment"), name="limitset_one_deployment"),
            models.CheckConstraint(
                condition=(
                    Q(scope="deployment", group__isnull=True, user__isnull=True)
                    | Q(scope="group", group__isnull=False, user__isnull=True)
                    | Q(scope="user", group__isnull=True, user__isnull=False)
                ),
                name="limitset_scope_matches",
            ),
        ]

    def __str__(self) -> str:
        return f"Limits of the {self.scope}" if self.scope == "deployment" else f"Limits of {self.group or self.user}"


class GlobalStop(models.Model):
    """One row: everything that no person starts is on hold, with the reason shown to all (gate row 1)."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    on = models.BooleanField(default=False)
    reason = models.CharField(max_length=300, blank=True)
    changed_at = models.DateTimeField(null=True, blank=True)
    began_at = models.DateTimeField(null=True, blank=True, editable=False, help_text="Of the last time it was on.")
    changed_by = models.ForeignKey(User, null=True, blank=True, on_delete=models.SET_NULL)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="globalstop_one_row")]
        verbose_name_plural = "global stop"

    def __str__(self) -> str:
        return "On" if self.on else "Off"


class IdempotencyKey(models.Model):
    """One act per key: its digest and what it made; kept for 24 h after the made thing is erased."""

    owner = models.ForeignKey(User, on_delete=models.CASCADE)
    act = models.CharField(max_length=40)
    key = models.CharField(max_length=128)
    digest = models.CharField(max_length=64)
    made = models.CharField(max_length=40, blank=True, help_text="Public id of what the act made.")
    gone_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "act", "key"], name="idempotency_unique")]
        indexes = [
            models.Index(fields=["gone_at"], condition=Q(gone_at__isnull=False), name="idempotency_gone"),
            models.Index(fields=["made"], condition=Q(gone_at__isnull=True), name="idempotency_made"),
        ]


class Notice(models.Model):
    """Outbox: one row per event to tell a person, written with the event (R3); channels read it later."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="notices")
    code = models.CharField(max_length=40)
    params = models.JSONField(default=dict)
    subject = models.CharField(max_length=40, blank=True, help_text="Public id of what it is about.")
    dedupe_key = models.CharField(max_length=120, unique=True)
    created_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["user", "-created_at"], name="notice_user_created")]

    def __str__(self) -> str:
        return self.code
