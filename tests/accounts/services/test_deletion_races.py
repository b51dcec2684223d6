"""A deletion meets everything else that happens to an account at the same instant (A2, A5)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps

from accounts.models import DeletionRequest, User
from accounts.selectors.deletions import deletion_of
from accounts.services.deletion import deletion_cancel, deletion_request
from accounts.services.erasing import deletions_sweep
from accounts.services.tokens import token_create
from accounts.services.users import profile_edit
from agents.models import Agent
from chats.models import Turn
from chats.services.conversations import conversation_create, conversation_edit
from core.errors import Refusal
from core.registry import erasers
from projects.services.projects import project_create, project_edit
from schedules.models import Run, Schedule
from schedules.services.again import run_again
from schedules.services.editing import schedule_create, schedule_edit
from schedules.services.firing import fire_due
from schedules.services.operating import schedule_release
from schedules.services.runs import FiredBy, run_now
from schedules.services.switching import schedule_resume, schedule_skip_next
from tests import factories
from tests.support.engine import HOURLY, MINUTE, NOW, at_once, begin, due_schedule, ended, queued_run, settle
from tests.support.leaving import path_to_user, swept

pytestmark = pytest.mark.django_db(transaction=True)

Act = Callable[[], Any]


class Account:
    """Alice with something for every act to work on."""

    def __init__(self) -> None:
        self.user = factories.make_user("alice@example.com")
        self.agent = factories.make_agent()
        self.schedule = due_schedule(self.user, agent=self.agent, overlap_policy="allow")
        self.paused = factories.make_schedule(owner=self.user, agent=self.agent, enabled=False, paused_at=NOW)
        self.armed = factories.make_schedule(owner=self.user, agent=self.agent, armed=True)
        self.project = factories.make_project(owner=self.user)
        self.conversation = factories.make_conversation(owner=self.user)
        self.run = factories.make_run(schedule=self.schedule, kind="manual", now=NOW - MINUTE)

    def acts(self) -> dict[str, Act]:
        """Return every door through which something of hers is made, changed or run."""
        body = {"name": "M", "prompt": "P", "agent": self.agent.public_id, "cadence": HOURLY}
        user, schedule = self.user, self.schedule
        at = self.armed.next_occurrence_at
        return {
            "create": lambda: schedule_create(owner=user, body=body, now=NOW),
            "edit": lambda: schedule_edit(schedule=schedule, body={"name": "New"}, now=NOW),
            "resume": lambda: schedule_resume(schedule=self.paused, now=NOW),
            "release": lambda: schedule_release(schedule=self.paused, actor=user, now=NOW),
            "skip next": lambda: schedule_skip_next(schedule=self.armed, scheduled_for=at, now=NOW),
            "run now": lambda: run_now(schedule=schedule, actor=user, now=NOW),
            "fire token": lambda: run_now(schedule=schedule, actor=user, now=NOW, fired=FiredBy("tok", {})),
            "run again": lambda: run_again(run=self.run, actor=user, now=NOW),
            "new project": lambda: project_create(owner=user, name="New", now=NOW),
            "edit project": lambda: project_edit(project=self.project, values={"name": "Other"}, now=NOW),
            "new conversation": lambda: conversation_create(owner=user, title="New", now=NOW),
            "move": lambda: conversation_edit(conversation=self.conversation, values={"title": "X"}, now=NOW),
            "token": lambda: token_create(user=user, name="CI", scopes=["runs:read"], now=NOW),
            "settings": lambda: profile_edit(user=user, values={"clock": "12"}),
        }


@pytest.fixture
def account(transactional_db: None) -> Account:
    return Account()


def answer(act: Act) -> str:
    """Return "done", or the code with which the act was refused."""
    try:
        act()
    except Refusal as refusal:
        return refusal.code
    return "done"


NAMES = [
    "create", "edit", "resume", "release", "skip next", "run now", "fire token", "run again", "new project",
    "edit project", "new conversation", "move", "token", "settings",
]  # fmt: skip


def test_every_door_is_named(account: Account):
    assert list(account.acts()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_door_is_closed_while_it_is_open_and_open_again_when_it_is_not(name: str, account: Account):
    """Gate row 2: 410, nothing is written; reading, pausing and deleting are tried elsewhere."""
    act = account.acts()[name]
    deletion_request(user=account.user, actor=account.user, now=NOW)
    with pytest.raises(Refusal) as refused:
        act()
    assert (refused.value.code, refused.value.status) == ("account_deleting", 410)
    deletion_cancel(user=account.user, actor=account.user, now=NOW)
    assert answer(act) == "done"


@pytest.mark.parametrize("name", NAMES)
def test_an_act_at_the_same_instant_is_before_the_request_or_refused(name: str, account: Account):
    """A2: under the lock of the person's row; whatever came in, a cancel brings back what was before the request."""
    act = account.acts()[name]
    ask = lambda: deletion_request(user=account.user, actor=account.user, now=NOW)  # noqa: E731
    said, request = at_once([lambda: answer(act), ask])
    assert said in ("done", "account_deleting")
    assert deletion_of(account.user.pk) == request
    assert answer(account.acts()["create"]) == "account_deleting"


def test_requests_at_the_same_instant_are_one(account: Account):
    """A3"""
    ask = lambda: deletion_request(user=account.user, actor=account.user, now=NOW).pk  # noqa: E731
    assert len(set(at_once([ask] * 4))) == 1


def test_a_cancel_and_the_commit_at_the_same_instant_end_in_one_of_the_two(account: Account):
    """Step 5"""
    request = deletion_request(user=account.user, actor=account.user, grace=timedelta(0), now=NOW)
    deletions_sweep(now=NOW)
    cancel = lambda: answer(lambda: deletion_cancel(user=account.user, actor=account.user, now=NOW))  # noqa: E731
    said, _ = at_once([cancel, lambda: deletions_sweep(now=NOW)])
    request.refresh_from_db()
    assert (said, request.state) in {("done", "cancelled"), ("deletion_committed", "erasing")}
    assert User.objects.get(pk=account.user.pk).is_active == (said == "done")


def test_whatever_happens_while_it_is_erased_nothing_of_the_person_is_left(account: Account):
    """A5, A6: creates, edits, runs, the clock and an answer in flight meet the sweep; rows come before it or never."""
    queued_run(account.user, agent=account.agent)
    works = begin()
    deletion_request(user=account.user, actor=account.user, grace=timedelta(0), now=NOW)
    acts = account.acts()

    def again(act: Act) -> Act:
        return lambda: {answer(act) for _ in range(10)}

    doors = [again(acts[name]) for name in ("create", "edit", "run now", "fire token", "new conversation", "token")]
    said = at_once(
        [
            *doors,
            lambda: [fire_due(now=NOW + MINUTE) for _ in range(10)] and {"account_deleting"},
            lambda: [settle(*[ended(work) for work in works]) for _ in range(3)] and {"account_deleting"},
            lambda: [deletions_sweep(now=NOW) for _ in range(20)] and {"account_deleting"},
        ],
        seconds=60,
    )
    assert all(words <= {"account_deleting", "not_found"} for words in said), said
    swept(NOW + MINUTE)
    assert settle(*[ended(work) for work in works], now=NOW + MINUTE) == set()
    assert DeletionRequest.objects.get().state == "done"
    for label, _ in erasers():
        path = path_to_user(apps.get_model(label))
        if path and label != "accounts.DeletionRequest":
            assert not apps.get_model(label)._base_manager.filter(**{path: account.user.pk}).exists(), label
    assert Agent.objects.filter(pk=account.agent.pk).exists()
    assert not (Turn.objects.exists() or Run.objects.exists() or Schedule.objects.exists())
