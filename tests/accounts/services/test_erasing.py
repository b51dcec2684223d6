"""What an account's deletion leaves behind: nothing of the person, wherever one looks (A5, A6)."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings as product
from django.contrib.sessions.models import Session
from django.db import DataError, IntegrityError, connection, models, transaction

from accounts.models import AuditEntry, DeletionRequest, Notice, UsageEntry, User
from accounts.services import erasing
from accounts.services.deletion import deletion_cancel, deletion_request
from accounts.services.erasing import deletions_sweep
from agents.models import Agent
from chats.models import Conversation, Message, Turn, TurnAttempt
from core.errors import Refusal
from core.registry import erasers
from schedules.models import Run
from tests import factories
from tests.support.engine import HOUR, MINUTE, NOW, begin, ended, everything, queued_run, settle
from tests.support.leaving import dump, everything_of, path_to_user, swept

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = ("accounts.PersonKey.key",)
"""Random names that stay in the log: nothing says any more whose they were."""

WORDS = {
    "status", "state", "kind", "scope", "overlap_policy", "misfire_policy", "origin", "lane", "role", "locale",
    "certainty", "outcome", "notified", "blocked_reason",
}  # fmt: skip
"""Columns that hold words of the product only: short ones, and those of which the database refuses others."""


@pytest.fixture
def olivia(transactional_db: None) -> User:
    return factories.make_user("olivia@example.com", operator=True)


def leave(user: Any, **more: Any) -> DeletionRequest:
    return deletion_request(user=user, actor=user, grace=timedelta(0), now=NOW, **more)


def owned(model: type[models.Model], user: User) -> Any:
    path = "pk" if model is User else path_to_user(model)
    return model._base_manager.filter(**{path: user.pk})


def seed(user: User, canary: str) -> set[str]:
    """Write the canary into every text of everything that is the person's; return the columns that took none."""
    refused = set()
    for label in ["accounts.User", *(label for label, _ in erasers())]:
        model = apps.get_model(label)
        if model is not User and not path_to_user(model):
            continue
        for field in model._meta.concrete_fields:
            if (
                field.primary_key
                or field.name == "public_id"
                or f"{label}.{field.name}" in NAMES
                or not isinstance(field, models.CharField | models.TextField | models.JSONField)
            ):
                continue
            if field.max_length is not None and field.max_length < 18:
                refused.add(f"{label}.{field.name}") if field.max_length > 9 else None
                continue
            for number, row in enumerate(owned(model, user)):
                text: Any = f"{canary}{number}"
                value = {"said": [text]} if isinstance(field, models.JSONField) else text
                try:
                    with transaction.atomic():
                        model._base_manager.filter(pk=row.pk).update(**{field.name: value})
                except (IntegrityError, DataError):
                    refused.add(f"{label}.{field.name}")
    return refused


def data_folder() -> Iterator[tuple[Path, bytes]]:
    """Yield every file of the data folder, the database's own among them."""
    for path in [*Path(product.DATA_DIR).rglob("*"), Path(str(connection.settings_dict["NAME"]))]:
        if path.is_file() and (path.suffix != ".sqlite3" or str(path) == str(connection.settings_dict["NAME"])):
            yield path, path.read_bytes()


def test_after_it_is_done_neither_a_word_nor_an_id_is_found_anywhere(olivia: User):
    """A6: every text of everything is one word that nobody else has; database and data folder are searched whole."""
    canary = f"zq{secrets.token_hex(6)}"
    user = everything_of(f"{canary}@example.com", operator=olivia)
    ids = {value for label, _ in erasers() for value in public_ids(apps.get_model(label), user)} | {user.public_id}
    taken = {f"{canary}{number}" for number in range(3)} | {canary}
    refused = seed(user, canary)
    Notice.objects.filter(user=olivia).update(params={"name": canary})
    found = {line.partition(":")[0] for line in dump() if canary in line}
    assert {"accounts_user", "chats_message", "schedules_run", "accounts_notice", "mfa_authenticator"} <= found
    assert len(ids) > 6
    leave(user)
    swept(NOW)
    assert DeletionRequest.objects.values_list("state", "user").get() == ("done", None)
    assert not User.objects.filter(pk=user.pk).exists()
    lines = list(dump())
    for word in taken | ids | {f"{canary}@example.com"}:
        assert [line for line in lines if word in line] == []
    for path, content in data_folder():
        assert canary.encode() not in content, path
    assert all(session.get_decoded().get("_auth_user_id") != str(user.pk) for session in Session.objects.all())
    assert {name.rpartition(".")[2] for name in refused} <= WORDS, refused


def public_ids(model: type[models.Model], user: User) -> list[str]:
    named = [name for name in ("public_id", "token") if name in {f.name for f in model._meta.concrete_fields}]
    return list(owned(model, user).values_list(named[0], flat=True)) if named and path_to_user(model) else []


def test_every_table_is_empty_of_the_person_and_others_keep_theirs(olivia: User):
    user, other = everything_of(), everything_of("bob@example.com")
    counts = {label: owned(apps.get_model(label), other).count() for label, _ in erasers() if _leads(label)}
    assert all(counts.values()), counts
    pk = user.pk
    leave(user)
    swept(NOW)
    for label, count in counts.items():
        if label != "accounts.GlobalStop":
            assert not apps.get_model(label)._base_manager.filter(**{path_to_user(apps.get_model(label)): pk}).exists()
        assert owned(apps.get_model(label), other).count() == count, label


def _leads(label: str) -> bool:
    return bool(path_to_user(apps.get_model(label))) and label != "accounts.GlobalStop"


def test_entries_of_the_log_stay_and_name_nobody(olivia: User):
    """A6"""
    user = everything_of(operator=olivia)
    before = AuditEntry.objects.count()
    leave(user)
    swept(NOW)
    assert AuditEntry.objects.count() >= before
    assert not hasattr(AuditEntry.objects.get(act="schedule.blocked"), "of")
    assert AuditEntry.objects.filter(act="deletion.done", who="", whom="").exists()


def test_an_agent_that_others_use_goes_to_the_operators_and_others_leave_no_text(olivia: User):
    """A6: one that somebody's schedule is on becomes shared; one that only old rows name is a tombstone."""
    user, bob = factories.make_user(), factories.make_user()
    used, old, lonely = (factories.make_agent(owner=user, instructions="Mine") for _ in range(3))
    factories.make_schedule(owner=bob, agent=used)
    factories.make_turn(owner=bob, agent=old, status="completed", settled_at=NOW)
    leave(user)
    swept(NOW)
    kept = {agent.pk: agent for agent in Agent.objects.filter(pk__in=[used.pk, old.pk, lonely.pk])}
    assert set(kept) == {used.pk, old.pk}
    assert (kept[used.pk].owner, kept[used.pk].instructions, kept[used.pk].public_id) == (None, "Mine", used.public_id)
    assert (kept[old.pk].owner, kept[old.pk].name, kept[old.pk].instructions) == (None, "", "")
    assert kept[old.pk].deleted_at == NOW
    assert kept[old.pk].public_id != old.public_id
    assert AuditEntry.objects.filter(act="agent.handed_over").count() == 1


@pytest.mark.parametrize("keep", [False, True])
def test_figures_of_usage_stay_without_the_person_when_they_are_kept(keep: bool, olivia: User):
    """A7"""
    user = everything_of()
    leave(user, keep_usage=keep)
    swept(NOW)
    kept = UsageEntry.objects.values_list("owner", "key", "turn", "schedule", "agent", "model", "cost")
    assert list(kept) == ([(None, None, "", "", "", "mdl_x", 1)] if keep else [])


def test_it_goes_in_bounded_batches_and_says_how_far_it_is(olivia: User, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(erasing, "BATCH", 3)
    monkeypatch.setattr(erasing, "BATCHES", 2)
    user = factories.make_user()
    for _ in range(10):
        factories.make_conversation(owner=user)
    request = leave(user)
    left = []
    while DeletionRequest.objects.filter(user=user.pk).exists():
        deletions_sweep(now=NOW)
        left.append(Conversation.objects.filter(owner=user.pk).count())
    request.refresh_from_db()
    assert all(before - after <= 6 for before, after in zip([10, *left], left, strict=False))
    assert request.progress["erased"]["chats.Conversation"] == 10


def test_beyond_the_commit_point_there_is_only_forward(olivia: User):
    """Step 5; nobody signs in with it any more."""
    user = everything_of()
    request = leave(user)
    deletions_sweep(now=NOW)
    deletions_sweep(now=NOW)
    request.refresh_from_db()
    user.refresh_from_db()
    assert (request.state, user.is_active) == ("erasing", False)
    with pytest.raises(Refusal) as refused:
        deletion_cancel(user=user, actor=user, now=NOW)
    assert (refused.value.code, refused.value.status) == ("deletion_committed", 409)


def test_a_step_that_fails_beyond_it_is_noted_and_comes_again(olivia: User, monkeypatch: pytest.MonkeyPatch):
    user = everything_of()
    request = leave(user)
    deletions_sweep(now=NOW)
    deletions_sweep(now=NOW)
    with monkeypatch.context() as broken:
        broken.setattr(erasing, "_erase_rows", lambda held, now: {}["Alice"])
        assert deletions_sweep(now=NOW) == 0
    request.refresh_from_db()
    assert (request.state, request.error) == ("erasing", "KeyError")
    swept(NOW)
    request.refresh_from_db()
    assert (request.state, request.error) == ("done", "")


def test_it_waits_for_a_live_lease_and_not_for_one_that_ran_out(olivia: User):
    """Step 4: what is worked on is asked to stop; a worker that never comes back holds nobody up."""
    user = factories.make_user()
    queued_run(user)
    [work] = begin()
    request = leave(user)
    for _ in range(3):
        deletions_sweep(now=NOW)
    request.refresh_from_db()
    assert (request.state, request.progress) == ("quiescing", {"waits": {"turns": 1}})
    assert Turn.objects.get(pk=work.turn.pk).stop_reason == "account_deleting"
    swept(NOW + 2 * HOUR)
    request.refresh_from_db()
    assert request.state == "done"


@pytest.mark.parametrize("how", ["answered", "failed", "stopped", "lost"])
def test_an_answer_that_comes_after_the_commit_is_discarded(how: str, olivia: User):
    """A5: neither while rows go nor after the last of them does a worker bring anything back."""
    user = factories.make_user()
    queued_run(user)
    [work] = begin()
    leave(user)
    late = NOW + MINUTE * 2
    deletions_sweep(now=late)
    deletions_sweep(now=late)
    assert DeletionRequest.objects.get().state == "erasing"
    before = everything()
    assert settle(ended(work, how, code="internal" if how == "failed" else ""), now=late) == set()
    assert everything() == before
    swept(late)
    assert settle(ended(work, how), now=late) == set()
    for model in (Turn, TurnAttempt, Message, Conversation, Run):
        assert not model.objects.exists()


def test_an_answer_that_comes_before_the_commit_is_stored_and_goes_with_the_rest(olivia: User):
    """A5"""
    user = factories.make_user()
    run = queued_run(user)
    [work] = begin()
    leave(user)
    deletions_sweep(now=NOW)
    assert settle(ended(work)) == {work.turn.pk}
    assert Run.objects.get(pk=run.pk).status == "succeeded"
    swept(NOW)
    assert not Message.objects.exists()
