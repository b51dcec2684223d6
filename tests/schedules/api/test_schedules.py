"""`/api/v1/schedules`, through the URL table and the session."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from core import clock
from schedules import lifecycle
from schedules.models import Run, Schedule

LIST = "/api/v1/schedules"


def at(public_id, act=""):
    return f"{LIST}/{public_id}" + (f"/{act}" if act else "")


@pytest.fixture
def made(api, body):
    """Create through the API and return the answer's document."""

    def make(**fields):
        response = api.post(LIST, {**body, **fields}, format="json")
        assert response.status_code == 201, response.content
        return response.json()

    return make


def problem(response, status, code):
    """See that the answer is the problem document of `code`, and return it."""
    assert (response.status_code, response.json()["code"]) == (status, code), response.content
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.json()["status"] == status
    return response.json()


def test_a_create_answers_201_with_the_schedule_and_its_revision_as_etag(api, body):
    response = api.post(LIST, body, format="json")
    assert response.status_code == 201
    assert response.headers["ETag"] == '"1"'
    assert "Idempotent-Replayed" not in response.headers
    shown = response.json()
    assert shown["name"] == "Morning" and shown["zone"] == "UTC" and shown["state"] == "armed"
    assert api.get(at(shown["id"])).json() == shown


def test_a_repeated_create_is_replayed_and_says_so(api, body):
    """B87, P7."""
    headers = {"Idempotency-Key": "k1"}
    first = api.post(LIST, body, format="json", headers=headers)
    again = api.post(LIST, body, format="json", headers=headers)
    assert again.status_code == 201
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json() == first.json()
    problem(api.post(LIST, {**body, "name": "x"}, format="json", headers=headers), 409, "idempotency_conflict")
    assert api.delete(at(first.json()["id"])).status_code == 204
    problem(api.post(LIST, body, format="json", headers=headers), 410, "gone")


@pytest.mark.parametrize("key", ["", "k" * 129])
def test_a_key_of_another_length_is_refused(api, body, key):
    response = api.post(LIST, body, format="json", headers={"Idempotency-Key": key})
    assert response.status_code == 400
    assert list(response.json()["fields"]) == ["Idempotency-Key"]
    assert not Schedule.objects.exists()


def test_every_refused_field_stands_in_the_problem_document(api, body):
    response = api.post(
        LIST, {**body, "name": "", "cadence": {"kind": "cron", "expression": "0 0 31 2 *"}}, format="json"
    )
    document = problem(response, 400, "input_invalid")
    assert document["fields"] == {
        "name": [{"code": "required", "text": "This is needed."}],
        "cadence.expression": [{"code": "cadence_never_fires", "text": "This lies in the past, or never comes."}],
    }


@pytest.mark.parametrize("sent", ["[]", "null", '"x"', "{", '{"name": NaN}', '{"name": "a", "name": "b"}'])
def test_a_body_that_is_no_object_is_refused(api, sent):
    problem(api.post(LIST, sent, content_type="application/json"), 400, "body_unreadable")


def test_an_edit_changes_what_was_sent_and_raises_the_revision(api, made):
    shown = made()
    response = api.patch(at(shown["id"]), {"name": "Evening"}, format="json", headers={"If-Match": '"1"'})
    assert (response.status_code, response.headers["ETag"]) == (200, '"2"')
    assert response.json() == {
        **shown,
        "name": "Evening",
        "revision": 2,
        "updated_at": response.json()["updated_at"],
    }


@pytest.mark.parametrize("tag", ['"7"', 'W/"1"', "1", "nonsense", '"7", "8"'])
def test_another_revision_is_refused_with_the_current_one(api, made, tag):
    shown = made()
    response = api.patch(at(shown["id"]), {"name": "Evening"}, format="json", headers={"If-Match": tag})
    assert problem(response, 409, "schedule_changed")["params"] == {"revision": 1}


@pytest.mark.parametrize("tag", ['"1"', "*", '"7", "1"'])
def test_the_current_revision_and_any_revision_match(api, made, tag):
    response = api.patch(at(made()["id"]), {"name": "Evening"}, format="json", headers={"If-Match": tag})
    assert response.status_code == 200


def test_reading_is_never_answered_not_modified(api, made):
    assert api.get(at(made()["id"]), headers={"If-None-Match": '"1"'}).status_code == 200


def test_pause_and_resume_switch_it(api, made):
    shown = made()
    paused = api.post(at(shown["id"], "pause")).json()
    assert (paused["state"], paused["enabled"], paused["next_run_at"]) == ("paused", False, None)
    resumed = api.post(at(shown["id"], "resume")).json()
    assert (resumed["state"], resumed["next_run_at"]) == ("armed", shown["next_run_at"])


def test_an_act_takes_no_body(api, made):
    shown = made()
    for act in ("pause", "resume", "run"):
        problem(api.post(at(shown["id"], act), {"force": True}, format="json"), 400, "unknown_field")


def test_skip_next_names_the_occurrence(api, made):
    shown = made()
    following = datetime.fromisoformat(shown["next_run_at"]) + timedelta(days=1)
    response = api.post(at(shown["id"], "skip-next"), {"scheduled_for": shown["next_run_at"]}, format="json")
    assert datetime.fromisoformat(response.json()["next_run_at"]) == following
    late = {"scheduled_for": "2020-01-01T00:00:00Z"}
    problem(api.post(at(shown["id"], "skip-next"), late, format="json"), 409, "schedule_changed")
    problem(api.post(at(shown["id"], "skip-next")), 400, "required")


def test_run_now_answers_202_with_the_run_and_one_run_per_key(api, made):
    """B61, B87, R7."""
    shown = made()
    headers = {"Idempotency-Key": "k1"}
    first = api.post(at(shown["id"], "run"), headers=headers)
    assert first.status_code == 202
    assert (first.json()["kind"], first.json()["status"]) == ("manual", "queued")
    assert api.post(at(shown["id"], "run"), headers=headers).json()["id"] == first.json()["id"]
    assert Run.objects.count() == 1
    assert api.get(at(shown["id"])).json()["next_run_at"] == shown["next_run_at"]
    refusal = problem(api.post(at(shown["id"], "run")), 409, "already_running")
    assert refusal["params"] == {"run": first.json()["id"]}


def test_deleting_answers_204_when_erased_and_202_while_a_run_is_being_stopped(
    api, made, make_run, make_turn, make_conversation, alice
):
    assert api.delete(at(made()["id"])).status_code == 204
    shown = made()
    now = clock.now()
    conversation = make_conversation(owner=alice)
    turn = make_turn(
        owner=alice, origin="schedule", status="running", conversation=conversation, fence=1, leased_by="w",
        lease_expires_at=now + timedelta(minutes=1),
    )  # fmt: skip
    schedule = Schedule.objects.get(public_id=shown["id"])
    make_run(schedule=schedule, status="running", turn=turn, conversation=conversation, started_at=now)
    response = api.delete(at(shown["id"]))
    assert (response.status_code, response.json()["state"]) == (202, "deleting")
    problem(api.get(at(shown["id"])), 404, "not_found")
    assert api.get(LIST).json()["results"] == []


def test_the_list_is_ordered_by_next_run_with_those_without_one_last(api, made):
    paused = made(name="paused", enabled=False)
    late = made(name="late", cadence={"kind": "yearly", "month": 1, "day": 1, "time": "00:00"})
    soon = made(name="soon", cadence={"kind": "hourly", "minute": 0})
    page = api.get(LIST, {"limit": 2}).json()
    assert [row["id"] for row in page["results"]] == [soon["id"], late["id"]]
    assert page["previous"] is None
    rest = api.get(page["next"]).json()
    assert [row["id"] for row in rest["results"]] == [paused["id"]]
    assert rest["next"] is None
    assert [row["id"] for row in api.get(rest["previous"]).json()["results"]] == [soon["id"], late["id"]]


def test_the_filters_narrow_the_list(api, made, make_agent, make_project, alice):
    other, project = make_agent(), make_project(owner=alice)
    plain = made(name="Plain", prompt="Write about dogs")
    filed = made(name="Filed", project=project.public_id, agent=other.public_id)
    paused = made(name="Paused", enabled=False)
    queries = {
        "state=paused": [paused],
        "state=armed": [plain, filed],
        f"agent={other.public_id}": [filed],
        f"project={project.public_id}": [filed],
        "project=none": [plain, paused],
        "q=DOGS": [plain],
        "q=filed&state=armed": [filed],
        "q=nothing": [],
    }
    for query, expected in queries.items():
        found = {row["id"] for row in api.get(f"{LIST}?{query}").json()["results"]}
        assert found == {row["id"] for row in expected}, query


def test_under_a_pin_the_project_filter_means_the_effective_project(api, made, make_project, alice, policy):
    """P14."""
    stored, pinned = make_project(owner=alice), make_project(owner=alice)
    made(project=stored.public_id)
    policy(alice, pinned_project=pinned)
    assert len(api.get(LIST, {"project": pinned.public_id}).json()["results"]) == 1
    assert api.get(LIST, {"project": stored.public_id}).json()["results"] == []


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("state=happy", "choice_unknown"),
        ("colour=red", "filter_unknown"),
        ("state=armed&state=paused", "filter_unknown"),
        ("cursor=xyz", "wrong_type"),
        ("limit=0", "out_of_range"),
    ],
)
def test_an_unknown_filter_is_refused(api, query, code):
    problem(api.get(f"{LIST}?{query}"), 400, code)


def test_a_page_of_fifty_takes_few_queries(api, alice, agent, make_schedule, make_run, django_assert_max_num_queries):
    """quality.md, panel and API; the session and its user are two of them."""
    for _ in range(50):
        lifecycle.show_last([make_run(schedule=make_schedule(owner=alice, agent=agent))])
    with django_assert_max_num_queries(8):
        assert len(api.get(LIST).json()["results"]) == 50


def test_a_preview_is_answered_without_storing_anything(api):
    response = api.post(f"{LIST}/preview", {"cadence": {"kind": "weekdays", "time": "08:00"}}, format="json")
    assert response.status_code == 200
    assert len(response.json()["occurrences"]) == 5
    refusal = api.post(f"{LIST}/preview", {"cadence": {"kind": "cron", "expression": "* * * * *"}}, format="json")
    assert list(problem(refusal, 400, "cadence_below_floor")["fields"]) == ["cadence.expression"]


def test_hostile_text_comes_back_as_it_was_sent(api, made):
    """B83, B85."""
    for text in ("<img src=x onerror=alert(1)>", "عربي", "देवनागरी", "x" * 99 + "👨‍👩‍👧‍👦"):
        shown = made(name=text, prompt=text)
        assert shown["name"] == shown["prompt"] == text
    listing = api.get(LIST)
    assert listing.status_code == 200 and "\ufffd" not in listing.content.decode()
