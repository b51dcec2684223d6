"""Reads of the audit log: by keys and ids along its indexes, however many entries there are."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db.models import QuerySet

from accounts.models import AuditEntry, AuditSubject, PersonKey, User

PERMISSION = "accounts.view_auditentry"
MOST_FOUND = 1_000
FILLED = ("whom", "request_id")
FIELDS = ("act", "kind", "source", "who", "whom", "request_id")


def audit_entries(
    *, values: dict[str, str], subject: str | None = None, since: datetime | None = None, until: datetime | None = None
) -> QuerySet[AuditEntry]:
    """Return the entries whose columns of `FIELDS` have exactly `values`, with `subject`, from `since` before `until`."""
    given = {name: values[name] for name in FIELDS if name in values}
    rows = entries_with(AuditEntry.objects.select_related("of"), **given)
    if subject:
        rows = rows.filter(pk__in=entries_about(subject))
    if since is not None:
        rows = rows.filter(at__gte=since)
    return rows if until is None else rows.filter(at__lt=until)


def entries_with(rows: QuerySet[AuditEntry], **values: str) -> QuerySet[AuditEntry]:
    """Return those of `rows` with `values`, in the form that the indexes on filled columns serve."""
    for name in set(FILLED) & set(values):
        rows = rows.exclude(**{name: ""})
    return rows.filter(**values)


def entries_about(public_id: str) -> list[int]:
    """Return the newest entries about the thing of that id, whether it belongs to somebody or to nobody."""
    nobodys = AuditEntry.objects.filter(subject=public_id).exclude(subject="").order_by("-pk")
    somebodys = AuditSubject.objects.filter(public_id=public_id).order_by("-pk")
    return [pk for rows in (nobodys, somebodys) for pk in rows.values_list("pk", flat=True)[:MOST_FOUND]]


def entries_of(email: str) -> list[int]:
    """Return the newest entries that somebody with this e-mail wrote, and the newest about what is theirs."""
    user = User.objects.with_email(email).first()
    key = PersonKey.objects.filter(user=user).values_list("key", flat=True).first() if user else None
    return entries_of_key(key) if key else []


def entries_of_key(key: str) -> list[int]:
    """Return the newest entries that name a person by this key, as who acted and as whose it is."""
    found: set[int] = set()
    for column in ("who", "whom"):
        rows = entries_with(AuditEntry.objects.all(), **{column: key}).order_by("-pk")
        found |= set(rows.values_list("pk", flat=True)[:MOST_FOUND])
    return sorted(found)


def people_named(keys: Collection[str]) -> dict[str, User]:
    """Return the people of `keys` who are still there, in one query."""
    rows = PersonKey.objects.filter(key__in={key for key in keys if key}).select_related("user")
    return {row.key: row.user for row in rows}


def may_read_audit(user: User) -> bool:
    """Return whether the person may read the log: operators who hold its permission."""
    return user.is_staff and user.has_perm(PERMISSION)
