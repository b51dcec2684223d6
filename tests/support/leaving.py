"""What tests of an account's deletion share: somebody who has everything, what the database holds, and crashes."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from allauth.account.models import EmailAddress, EmailConfirmation
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.apps import apps
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import connection, connections, models
from django.test import Client

from accounts.models import CreditEntry, DeletionRequest, IdempotencyKey, LimitSet, Notice, UsageEntry, User
from accounts.selectors.deletions import open_deletions
from accounts.services.audit import audit
from accounts.services.erasing import deletions_sweep
from accounts.services.tokens import token_create
from chats.models import Message, TurnAttempt
from core import points
from projects.models import ProjectPolicy
from tests import factories
from tests.support.engine import NOW

NOT_RESTORED = ("DeletionRequest", "AuditEntry", "AuditSubject", "PersonKey")
"""What a request writes besides its effect: itself, and the log."""


def everything_of(email: str = "alice@example.com", *, operator: Any = None) -> User:
    """Return somebody with at least one row in every table that leads to a person."""
    user = factories.make_user(email, display_name="Alice")
    agent = factories.make_agent(owner=user)
    project = factories.make_project(owner=user)
    schedule = factories.make_schedule(owner=user, agent=agent, project=project, armed=True)
    conversation = factories.make_conversation(owner=user, project=project, agent=agent)
    turn = factories.make_turn(
        owner=user, agent=agent, conversation=conversation, status="completed", settled_at=NOW, origin="schedule"
    )
    TurnAttempt.objects.create(turn=turn, number=1, fence=1, started_at=NOW)
    Message.objects.create(conversation=conversation, turn=turn, sequence=1, role="user", text="Hi", created_at=NOW)
    run = factories.make_run(schedule=schedule, turn=turn, conversation=conversation)
    type(schedule).objects.filter(pk=schedule.pk).update(last_run=run)
    _account_of(user)
    ProjectPolicy.objects.create(scope="user", user=user, pinned_project=project, updated_at=NOW)
    if operator is not None:
        Notice.objects.create(
            user=operator, code="runs_interrupted", params={"name": schedule.name}, subject=schedule.public_id,
            dedupe_key=f"told:{schedule.pk}", created_at=NOW,
        )  # fmt: skip
    audit(act="schedule.blocked", actor=operator, subject=schedule, now=NOW)
    return user


def _account_of(user: User) -> None:
    token_create(user=user, name="CI", scopes=["runs:read"], now=NOW)
    LimitSet.objects.create(scope="user", user=user, max_schedules=5, updated_at=NOW)
    Notice.objects.create(user=user, code="run_settled", dedupe_key=f"n:{user.pk}", created_at=NOW)
    IdempotencyKey.objects.create(owner=user, act="a", key="k", digest="d", created_at=NOW)
    CreditEntry.objects.create(owner=user, key=f"c:{user.pk}", kind="grant", amount=5, created_at=NOW)
    UsageEntry.objects.create(
        owner=user, day=NOW.date(), key=f"u:{user.pk}", turn="trn_x", model="mdl_x", kind="schedule", cost=1,
        created_at=NOW,
    )  # fmt: skip
    address = EmailAddress.objects.create(user=user, email=user.email)
    EmailConfirmation.objects.create(email_address=address, key=f"key{user.pk}", created=NOW)
    Authenticator.objects.create(user=user, type="totp", data={"secret": "x"})
    client = Client()
    client.force_login(user)
    UserSession.objects.create(user=user, ip="192.0.2.7", session_key=client.session.session_key, user_agent="Firefox")
    kind = ContentType.objects.get_for_model(User)
    LogEntry.objects.create(
        user=user, content_type=kind, object_id=str(user.pk), object_repr=user.email, action_flag=CHANGE
    )
    DeletionRequest.objects.create(
        user=user, state="cancelled", requested_at=NOW, not_before=NOW, ended_at=NOW - timedelta(days=30)
    )


def path_to_user(model: type[models.Model]) -> str:
    """Return the lookup that leads from `model` to a person over foreign keys that cannot be empty first; or nothing."""
    direct = [f for f in model._meta.concrete_fields if f.remote_field and f.remote_field.model is User]
    if direct:
        return direct[0].name
    for field in model._meta.concrete_fields:
        remote: Any = field.remote_field
        if remote is None or remote.on_delete is not models.CASCADE or remote.model is model:
            continue
        if further := path_to_user(remote.model):
            return f"{field.name}__{further}"
    return ""


def rows() -> dict[str, list[str]]:
    """Return every row of every model but what a request writes besides its effect."""
    tables = [m for m in apps.get_models(include_auto_created=True) if m.__name__ not in NOT_RESTORED]
    return {m._meta.label: [repr(row) for row in m._base_manager.order_by("pk").values()] for m in tables}


def dump() -> Iterator[str]:
    """Yield every row of every table of the database as text, whatever Django knows of it."""
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            for row in cursor.fetchall():
                yield f"{table}: {' '.join(_text(value) for value in row)}"


def _text(value: Any) -> str:
    return bytes(value).decode("utf-8", "replace") if isinstance(value, bytes | memoryview) else str(value)


def swept(now: datetime, most: int = 200) -> int:
    """Sweep until nothing is open or nothing moves; return how often it moved."""
    for count in range(most):
        if not deletions_sweep(now=now) or not open_deletions().exists():
            return count
    raise AssertionError("the sweep never came to an end")


def crash_at(label: str, act: Callable[[], Any]) -> int:
    """Do `act` in a forked process that dies the first time `label` is reached; return its exit code (9: it died)."""
    connections.close_all()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            points.watch(lambda at, about: os._exit(9) if at == label else None)
            act()
            code = 0
        except BaseException:  # noqa: BLE001 - the process ends here, whatever it was
            traceback.print_exc()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
