"""`POST /api/v1/schedules/{id}/fire`: a token that starts one schedule and can do nothing else (accounts.md, Tokens)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from accounts.services.stops import global_stop_set
from accounts.services.tokens import token_create
from core.errors import Refusal
from schedules.models import Run, Schedule
from schedules.services import runs as module
from schedules.services.origin import prompt_of
from schedules.services.runs import FiredBy, run_now
from tests.support.engine import HOUR, NOW, due_schedule, fire, row

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def hints(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    sent: list[int] = []
    monkeypatch.setattr(module, "hint_drain", lambda: sent.append(1))
    return sent


@pytest.fixture
def schedule(alice: Any) -> Schedule:
    return due_schedule(
        alice, at=NOW + HOUR, prompt="Explain {{inputs.title}} of {{ inputs.repo }} and {{inputs.none}}."
    )


@pytest.fixture
def outside(token_client: Any, alice: Any, schedule: Schedule) -> Any:
    return token_client(alice, [f"fire:{schedule.public_id}"])


def path(schedule: Schedule, act: str = "/fire") -> str:
    return f"/api/v1/schedules/{schedule.public_id}{act}"


def post(client: Any, schedule: Schedule, body: Any = None, **headers: str) -> Any:
    return client.post(path(schedule), body or {}, format="json", **headers)


def fired(schedule: Schedule, *, token: str = "tok_1", now: Any = NOW, key: str | None = None, **inputs: str) -> Run:
    return run_now(schedule=schedule, actor=schedule.owner, now=now, key=key, fired=FiredBy(token, inputs))


class TestFire:
    def test_it_starts_a_run_of_kind_api_and_tells_id_and_status_only(
        self, outside: Any, schedule: Schedule, hints: list[int]
    ) -> None:
        """R7: nothing of the schedule moves."""
        before = row(schedule)
        answer = post(outside, schedule, {"inputs": {"title": "the bug", "repo": "quotidian"}})
        assert answer.status_code == 202
        run = Run.objects.get()
        assert answer.json() == {"id": run.public_id, "status": "queued"}
        assert (run.kind, run.inputs) == ("api", {"title": "the bug", "repo": "quotidian"})
        assert row(schedule) == before
        assert hints

    def test_what_was_given_stands_in_the_prompt_as_text(self, schedule: Schedule) -> None:
        """A variable inside an input is data; a name that was not given stays as typed."""
        run = fired(schedule, title="{{date}} {{inputs.repo}}", repo="r")
        assert prompt_of(run) == "Explain {{date}} {{inputs.repo}} of r and {{inputs.none}}."
        assert run.prompt == schedule.prompt

    def test_the_same_key_is_one_run(self, outside: Any, schedule: Schedule) -> None:
        """R1: also right after the first, when another start would have to wait."""
        first = post(outside, schedule, {"inputs": {"title": "a"}}, HTTP_IDEMPOTENCY_KEY="build-7")
        again = post(outside, schedule, {"inputs": {"title": "a"}}, HTTP_IDEMPOTENCY_KEY="build-7")
        assert (again.status_code, again.json()["id"]) == (202, first.json()["id"])
        other = post(outside, schedule, {"inputs": {"title": "b"}}, HTTP_IDEMPOTENCY_KEY="build-7")
        assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
        assert Run.objects.count() == 1

    def test_without_a_body_nothing_is_given(self, outside: Any, schedule: Schedule) -> None:
        assert outside.post(path(schedule)).status_code == 202
        assert Run.objects.get().inputs == {}


class TestWhatTheTokenCannot:
    @pytest.mark.parametrize("act", ["", "/runs"])
    def test_it_reads_nothing(self, act: str, outside: Any, schedule: Schedule) -> None:
        assert outside.get(path(schedule, act)).json()["code"] == "scope_missing"

    @pytest.mark.parametrize("act", ["/run", "/pause", "/resume"])
    def test_it_does_nothing_else(self, act: str, outside: Any, schedule: Schedule) -> None:
        assert outside.post(path(schedule, act)).json()["code"] == "scope_missing"
        assert outside.get("/api/v1/me").json()["code"] == "scope_missing"

    def test_it_fires_no_other_schedule(self, outside: Any, alice: Any) -> None:
        answer = post(outside, due_schedule(alice, at=NOW + HOUR))
        assert (answer.status_code, answer.json()["code"]) == (403, "scope_missing")
        assert not Run.objects.exists()

    def test_a_token_for_writing_does_not_fire(self, token_client: Any, alice: Any, schedule: Schedule) -> None:
        answer = post(token_client(alice, ["schedules:write", "runs:write"]), schedule)
        assert answer.json()["code"] == "scope_missing"

    @pytest.mark.parametrize("which", ["theirs", "gone"])
    def test_it_is_made_for_ones_own_schedules_only(self, which: str, alice: Any, bob: Any, schedule: Schedule) -> None:
        """P15: somebody else's and one that never was are the same."""
        scope = f"fire:{schedule.public_id if which == 'theirs' else 'sch_gone'}"
        with pytest.raises(Refusal) as caught:
            token_create(user=bob, name="CI", scopes=[scope], now=NOW)
        assert [error.code for error in caught.value.fields] == ["scope_unknown"]


class TestTooOften:
    def test_one_token_starts_one_run_a_minute(self, schedule: Schedule) -> None:
        """details.md: 429 with `Retry-After`; no row, no key used."""
        schedule.overlap_policy = "allow"
        schedule.save()
        fired(schedule)
        with pytest.raises(Refusal) as caught:
            fired(schedule, now=NOW + timedelta(seconds=20.5), key="late")
        assert (caught.value.code, caught.value.status, caught.value.retry_after) == ("rate_limited", 429, 40)
        assert Run.objects.count() == 1
        fired(schedule, token="tok_2", now=NOW + timedelta(seconds=21))
        fired(schedule, now=NOW + timedelta(seconds=60), key="late")
        assert Run.objects.count() == 3

    def test_a_fire_that_was_refused_does_not_count(self, schedule: Schedule) -> None:
        agent = schedule.agent
        agent.enabled = False
        agent.save()
        with pytest.raises(Refusal) as caught:
            fired(schedule)
        assert caught.value.code == "agent_disabled"
        agent.enabled = True
        agent.save()
        assert fired(schedule, now=NOW + timedelta(seconds=1)).status == "queued"

    def test_runs_by_hand_and_by_the_clock_do_not_count(self, schedule: Schedule) -> None:
        schedule.overlap_policy = "allow"
        schedule.save()
        run_now(schedule=schedule, actor=schedule.owner, now=NOW)
        fire(NOW + HOUR)
        assert fired(schedule, now=NOW + HOUR).status == "queued"


class TestRefusals:
    def test_an_unfinished_run_is_named(self, outside: Any, schedule: Schedule) -> None:
        run = run_now(schedule=schedule, actor=schedule.owner, now=NOW)
        answer = post(outside, schedule)
        assert (answer.status_code, answer.json()["code"]) == (409, "already_running")
        assert answer.json()["params"] == {"run": run.public_id}

    def test_under_the_global_stop_nothing_starts(self, outside: Any, schedule: Schedule, alice: Any) -> None:
        """R7."""
        global_stop_set(on=True, reason="Maintenance", actor=alice, now=NOW)
        answer = post(outside, schedule)
        assert (answer.status_code, answer.json()["code"]) == (503, "stopped_by_operator")
        assert not Run.objects.exists()

    @pytest.mark.parametrize(
        ("body", "field", "code"),
        [
            ({"input": {}}, "input", "unknown_field"),
            ({"inputs": []}, "inputs", "wrong_type"),
            ({"inputs": {"a": 1}}, "inputs.a", "wrong_type"),
            ({"inputs": {"a b": "x"}}, "inputs.a b", "wrong_type"),
            ({"inputs": {"a": "x" * 4001}}, "inputs.a", "too_long"),
            ({"inputs": {f"n{n}": "x" for n in range(17)}}, "inputs", "out_of_range"),
        ],
    )
    def test_what_cannot_be_given_is_named_and_nothing_starts(
        self, body: Any, field: str, code: str, outside: Any, schedule: Schedule
    ) -> None:
        answer = post(outside, schedule, body)
        assert answer.status_code == 400
        assert {name: [e["code"] for e in errors] for name, errors in answer.json()["fields"].items()} == {
            field: [code]
        }
        assert not Run.objects.exists()
