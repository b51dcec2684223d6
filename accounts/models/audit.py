"""What operators did: rows that are only ever added, and the random names under which they know people (A6)."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from django.db import models
from django.db.models import Q

from accounts.models.people import User
from core.ids import new_id


def _person_key() -> str:
    return new_id("psn")


def _entry_id() -> str:
    return new_id("aud")


class AppendOnly(RuntimeError):
    """Somebody tried to change or remove what is only ever added."""


class AppendOnlySet(models.QuerySet["AuditEntry"]):
    """Rows that can be added and read. Triggers in the database say the same to everybody else."""

    def update(self, **kwargs: Any) -> NoReturn:
        raise AppendOnly("audit entries are never changed")

    def bulk_update(self, objs: Any, fields: Any, batch_size: int | None = None) -> NoReturn:
        raise AppendOnly("audit entries are never changed")

    def delete(self) -> NoReturn:
        raise AppendOnly("audit entries are never removed")

    delete.alters_data = True  # type: ignore[attr-defined]

    def _raw_delete(self, using: str | None) -> NoReturn:
        raise AppendOnly("audit entries are never removed")


class PersonKey(models.Model):
    """The random name of a person in the audit log. Erasing the row leaves their entries nameless (A6)."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="person_key")
    key = models.CharField(max_length=40, unique=True, default=_person_key, editable=False)

    def __str__(self) -> str:
        return self.key


class AuditEntry(models.Model):
    """One act of an operator or of policy: who, what, to what of whom, from where, and what it was before and after.

    `who` and `whom` hold keys of `PersonKey`, no foreign keys: the entry outlives the person. `before` and `after`
    hold numbers, switches, states and words of operators, never text of people.
    """

    SOURCES = ("admin", "panel", "api", "command", "system")

    public_id = models.CharField(max_length=40, unique=True, default=_entry_id, editable=False)
    at = models.DateTimeField()
    act = models.CharField(max_length=60, help_text="Kind of thing and verb: limitset.changed, schedule.blocked.")
    who = models.CharField(max_length=40, blank=True, help_text="Key of the person who acted; empty for commands.")
    source = models.CharField(max_length=10, choices=[(s, s) for s in SOURCES])
    request_id = models.CharField(max_length=64, blank=True)
    whom = models.CharField(max_length=40, blank=True, help_text="Key of the person whose it is.")
    kind = models.CharField(max_length=40, blank=True, help_text="Kind of thing that was acted on.")
    subject = models.CharField(max_length=40, blank=True, help_text="Its id, where it belongs to nobody.")
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)

    objects: ClassVar[models.Manager[AuditEntry]] = models.Manager.from_queryset(AppendOnlySet)()

    class Meta:
        base_manager_name = "objects"
        verbose_name_plural = "audit entries"
        indexes = [
            models.Index(fields=["at"], name="audit_at"),
            models.Index(fields=["act", "-id"], name="audit_act"),
            models.Index(fields=["source", "-id"], name="audit_source"),
            models.Index(fields=["kind", "-id"], name="audit_kind"),
            models.Index(fields=["who", "-id"], name="audit_who"),
            models.Index(fields=["whom", "-id"], condition=~Q(whom=""), name="audit_whom"),
            models.Index(fields=["subject", "-id"], condition=~Q(subject=""), name="audit_subject"),
            models.Index(fields=["request_id"], condition=~Q(request_id=""), name="audit_request"),
        ]

    def __str__(self) -> str:
        return self.act

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Add the entry. Raises AppendOnly for one that is stored already."""
        if not self._state.adding:
            raise AppendOnly("audit entries are never changed")
        super().save(*args, **{**kwargs, "force_insert": True})

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise AppendOnly("audit entries are never removed")


class AuditSubject(models.Model):
    """The public id of what an entry is about, when it belongs to a person: erased with their key (A6)."""

    entry = models.OneToOneField(AuditEntry, primary_key=True, on_delete=models.DO_NOTHING, related_name="of")
    person = models.ForeignKey(PersonKey, on_delete=models.CASCADE, related_name="subjects")
    public_id = models.CharField(max_length=40)

    class Meta:
        indexes = [models.Index(fields=["public_id"], name="auditsubject_id")]

    def __str__(self) -> str:
        return self.public_id
