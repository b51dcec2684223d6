"""`manage.py delete_user` (A7)."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.models import AuditEntry, DeletionRequest, User
from accounts.services.deletion import deletion_cancel
from core.clock import now as clock_now
from tests.factories import NOW
from tests.support.engine import begin, queued_run
from tests.support.leaving import everything_of

pytestmark = pytest.mark.django_db(transaction=True)


def run(*arguments: str) -> list[str]:
    out = io.StringIO()
    call_command("delete_user", *arguments, stdout=out)
    return out.getvalue().split()


def test_with_a_grace_it_says_until_when_it_can_be_called_off(alice: Any):
    """A7: the same service and the same states as everywhere."""
    state, until, instant = run("ALICE@example.com", "--yes")
    request = DeletionRequest.objects.get()
    assert (state, until, instant) == ("requested", "until", f"{request.not_before:%Y-%m-%dT%H:%M:%SZ}")
    assert AuditEntry.objects.get(act="deletion.requested").source == "command"
    deletion_cancel(user=alice, actor=None, now=NOW)


def test_at_once_it_prints_every_state_and_the_account_is_gone(db: None):
    everything_of()
    assert run("alice@example.com", "--now", "--yes") == ["requested", "quiescing", "erasing", "done"]
    assert not User.objects.exists()


def test_it_takes_over_a_request_that_is_open(alice: Any):
    """A3"""
    run("alice@example.com", "--yes")
    assert run("alice@example.com", "--now", "--yes", "--keep-usage")[-1] == "done"
    request = DeletionRequest.objects.get()
    assert request.keep_usage


def test_what_still_runs_is_said_and_the_sweep_goes_on(alice: Any):
    queued_run(alice)
    begin(clock_now())
    with pytest.raises(CommandError, match=r"Still quiescing: turns: 1\."):
        run("alice@example.com", "--now", "--yes", "--wait", "0")
    assert DeletionRequest.objects.get().state == "quiescing"


def test_nobody_at_the_keyboard_is_said_and_nothing_is_done(alice: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(CommandError, match="--yes"):
        run("alice@example.com", "--now")
    assert not DeletionRequest.objects.exists()


def test_an_unknown_account_and_the_last_operator_are_refused(db: None, olivia: Any):
    with pytest.raises(CommandError, match="no account"):
        run("nobody@example.com", "--yes")
    with pytest.raises(CommandError, match="Nobody would be left"):
        run("olivia@example.com", "--now", "--yes")
    assert run("olivia@example.com", "--now", "--yes", "--yes")[-1] == "done"
