"""Keys of run-now and fire follow the rule of create (runs.md, Create is idempotent)."""

import pytest

from schedules.services.editing import schedule_delete
from tests.support.engine import HOUR, NOW, due_schedule

pytestmark = pytest.mark.django_db


@pytest.fixture
def schedule(alice):
    return due_schedule(alice, at=NOW + HOUR)


@pytest.fixture
def fire(token_client, alice, schedule):
    client = token_client(alice, [f"fire:{schedule.public_id}"])

    def post(body):
        path = f"/api/v1/schedules/{schedule.public_id}/fire"
        return client.post(path, body, format="json", HTTP_IDEMPOTENCY_KEY="build-7")

    return post


def test_a_key_of_a_run_answers_gone_for_a_day_after_its_schedule_was_erased(api, schedule):
    """Deleted since = 410; a key is remembered 24 h after the row is erased; run now uses the same rule."""
    path = f"/api/v1/schedules/{schedule.public_id}/run"
    run = api.post(path, HTTP_IDEMPOTENCY_KEY="k")
    assert run.status_code == 202
    assert schedule_delete(schedule=schedule, now=NOW)
    again = api.post(path, HTTP_IDEMPOTENCY_KEY="k")
    assert (again.status_code, again.json()["code"]) == (410, "gone")


@pytest.mark.parametrize(
    "other",
    [
        {"inputs": {}},  # omitted and given are different
        {"inputs": {"BAD NAME": "x"}},  # the key is looked up before every other validation
    ],
)
def test_the_key_of_a_fire_with_another_body_is_a_conflict(fire, other):
    assert fire({}).status_code == 202
    answer = fire(other)
    assert (answer.status_code, answer.json()["code"]) == (409, "idempotency_conflict")


def test_nothing_is_trimmed_before_bodies_are_compared(fire):
    assert fire({"inputs": {"title": "a"}}).status_code == 202
    assert fire({"inputs": {"title": "a "}}).json().get("code") == "idempotency_conflict"


def test_a_replayed_run_says_so(api, schedule):
    """`Idempotent-Replayed: true`."""
    path = f"/api/v1/schedules/{schedule.public_id}/run"
    api.post(path, HTTP_IDEMPOTENCY_KEY="k")
    again = api.post(path, HTTP_IDEMPOTENCY_KEY="k")
    assert again.status_code == 202
    assert again.headers.get("Idempotent-Replayed") == "true"
