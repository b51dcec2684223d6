"""A process dies at every labelled point of a deletion: what is before the commit is undone, what is after goes on (A2)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from accounts.models import DeletionRequest, User
from accounts.selectors.deletions import deletion_of
from accounts.services.deletion import deletion_cancel, deletion_request
from accounts.services.erasing import deletions_sweep
from tests import factories
from tests.support.engine import HOUR, NOW, due_schedule
from tests.support.leaving import crash_at, dump, everything_of, rows, swept

pytestmark = pytest.mark.django_db(transaction=True)

BEFORE = [
    "deletion_opening", "deletion_suspended", "deletion_opened", "deletion_quiescing", "deletion_quiesced",
    "deletion_committing",
]  # fmt: skip
"""Points up to the commit: none of them has moved the request to `erasing` for good."""

AFTER = [
    "deletion_committed", "deletion_erasing", "deletion_erased", "deletion_cleared", "deletion_finishing",
    "deletion_done",
]  # fmt: skip
CANCELLING = ["deletion_cancelling", "deletion_cancelled"]


@pytest.fixture
def user(transactional_db: None) -> User:
    olivia = factories.make_user("olivia@example.com", operator=True)
    user = everything_of(operator=olivia)
    due_schedule(user)
    return user


def whole(user: User) -> None:
    """Ask and carry through, as request and sweeps would one after the other."""
    deletion_request(user=user, actor=user, grace=timedelta(0), now=NOW)
    swept(NOW)


@pytest.mark.parametrize("label", BEFORE)
def test_a_crash_before_the_commit_and_a_cancel_leave_every_row_as_it_was(label: str, user: User):
    """A2: byte for byte, apart from the request and the log."""
    before = rows()
    assert crash_at(label, lambda: whole(user)) == 9
    if deletion_of(user.pk) is not None:
        deletion_cancel(user=user, actor=user, now=NOW + HOUR)
    assert rows() == before


@pytest.mark.parametrize("label", AFTER)
def test_a_crash_after_the_commit_is_carried_on_by_the_sweep(label: str, user: User):
    """Step 4: in one resumable cascade, the user row last."""
    assert crash_at(label, lambda: whole(user)) == 9
    swept(NOW)
    assert DeletionRequest.objects.values_list("state", "user", "error").get() == ("done", None, "")
    assert [line for line in dump() if "alice@example.com" in line] == []


def test_a_crash_in_every_batch_is_carried_on(user: User):
    """Each child dies in the first batch that it erases, before its commit and after it by turns."""
    deletion_request(user=user, actor=user, grace=timedelta(0), now=NOW)
    labels = ["deletion_erased", "deletion_erasing", "deletion_erased"]
    codes = [crash_at(labels[number % 3], lambda: swept(NOW)) for number in range(12)]
    assert codes == [9] * 12
    swept(NOW)
    assert not User.objects.filter(pk=user.pk).exists()


@pytest.mark.parametrize("label", CANCELLING)
def test_a_crash_while_cancelling_is_either_before_or_after_it(label: str, user: User):
    """A2: never half."""
    before = rows()
    deletion_request(user=user, actor=user, now=NOW)
    assert crash_at(label, lambda: deletion_cancel(user=user, actor=user, now=NOW)) == 9
    if label == "deletion_cancelling":
        assert deletion_of(user.pk) is not None
        deletion_cancel(user=user, actor=user, now=NOW)
    assert deletion_of(user.pk) is None
    assert rows() == before


def test_every_point_of_a_deletion_is_tried(user: User, monkeypatch: pytest.MonkeyPatch):
    from core import points

    seen: list[str] = []
    points.watch(lambda label, about: seen.append(label))
    try:
        whole(user)
        second = factories.make_user()
        deletion_request(user=second, actor=second, now=NOW)
        deletion_cancel(user=second, actor=second, now=NOW)
    finally:
        points.watch(None)
    assert {label for label in seen if label.startswith("deletion_")} == {*BEFORE, *AFTER, *CANCELLING}


def test_two_sweeps_at_once_erase_once(user: User):
    """Step 4: clocks of several hosts sweep; one works on a request, the others pass by."""
    from tests.support.engine import at_once

    deletion_request(user=user, actor=user, grace=timedelta(0), now=NOW)

    def sweep() -> Any:
        return [deletions_sweep(now=NOW) for _ in range(8)]

    at_once([sweep, sweep, sweep])
    swept(NOW)
    request = DeletionRequest.objects.get()
    assert (request.state, request.error) == ("done", "")
    assert request.progress["erased"]["chats.Message"] == 1
