"""Run and turn move together: which status a run gets when its turn ends (runs.md, States). Pure."""

import pytest

from chats.domain.states import TERMINAL_TURN
from schedules.domain.outcome import never_ran, run_status
from schedules.domain.states import TERMINAL

TABLE = [
    ("completed", "", "succeeded"),
    ("completed", "empty_answer", "empty"),
    ("failed", "deadline", "timed_out"),
    ("failed", "worker_lost", "interrupted"),
    ("failed", "provider_error", "failed"),
    ("failed", "internal", "failed"),
    ("failed", "", "failed"),
    ("stopped", "stopped_by_owner", "stopped"),
    ("stopped", "replaced", "stopped"),
    ("expired", "", "expired"),
    ("cancelled", "paused", "cancelled"),
    ("cancelled", "overlap", "skipped"),
    ("cancelled", "project_required", "refused"),
    ("cancelled", "misfire", "missed"),
]


@pytest.mark.parametrize(("turn", "code", "run"), TABLE)
def test_the_run_ends_as_its_turn_did(turn, code, run):
    assert run_status(turn, code) == run


def test_the_table_covers_every_end_of_a_turn_and_every_end_of_a_run():
    assert {row[0] for row in TABLE} == set(TERMINAL_TURN)
    assert {row[2] for row in TABLE} == set(TERMINAL)


@pytest.mark.parametrize("status", ["queued", "running", "needs_approval", "nonsense"])
def test_a_turn_that_has_not_ended_has_no_outcome(status):
    with pytest.raises((KeyError, ValueError)):
        run_status(status, "")


@pytest.mark.parametrize(
    ("status", "codes"),
    [
        ("skipped", "overlap skip_date skip_next balance budget quota approvals_pending"),
        ("missed", "misfire passed_over"),
        ("cancelled", "paused blocked deleted edited superseded replaced"),
        (
            "refused",
            "owner_inactive feature_disabled permission_revoked cadence_invalid cadence_below_floor zone_unknown"
            " agent_deleted agent_forbidden agent_disabled project_required project_deleted conversation_gone goal_held"
            " model_unavailable internal",
        ),
    ],
)
def test_what_never_ran_is_named_by_its_reason(status, codes):
    for code in codes.split():
        assert never_ran(code) == status, code
