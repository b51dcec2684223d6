"""`/api/v1/audit`: for operators, by pages, along indexes."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.services.audit import audit, person_key
from accounts.services.limits import limits_set
from core.asking import asked_by
from tests.factories import NOW
from tests.support.calls import browser, caller, code_of

PATH = "/api/v1/audit"


@pytest.fixture
def entries(olivia: Any, alice: Any, make_schedule: Any) -> dict[str, Any]:
    schedule = make_schedule(owner=alice)
    with asked_by("admin", "request-0001"):
        paused = audit(act="schedule.paused", actor=olivia, subject=schedule, now=NOW)
    limits = limits_set(scope="deployment", values={"max_schedules": 7}, now=NOW)
    return {"schedule": schedule, "paused": paused, "limits": limits}


def test_an_operator_reads_who_did_what_to_what_of_whom(entries: dict[str, Any], olivia: Any, alice: Any):
    answer = browser(olivia).get(PATH, {"kind": "schedule"})
    assert answer.status_code == 200, answer.content
    assert answer.json()["results"] == [
        {
            "id": entries["paused"].public_id,
            "at": "2026-06-01T08:00:00Z",
            "act": "schedule.paused",
            "who": {"key": person_key(olivia), "email": "olivia@example.com"},
            "source": "admin",
            "request_id": "request-0001",
            "kind": "schedule",
            "subject": entries["schedule"].public_id,
            "whom": {"key": person_key(alice), "email": "alice@example.com"},
            "before": {},
            "after": {},
        }
    ]


def test_a_token_of_an_operator_reads_with_the_scope_only(entries: dict[str, Any], olivia: Any, alice: Any):
    assert caller(olivia, "audit:read").get(PATH).status_code == 200
    refused = caller(olivia, "schedules:read", "runs:read").get(PATH)
    assert (refused.status_code, code_of(refused)) == (403, "scope_missing")
    for client in (caller(alice, "audit:read"), browser(alice)):
        answer = client.get(PATH)
        assert (answer.status_code, code_of(answer)) == (403, "permission_denied")


def test_an_operator_without_the_right_reads_nothing(make_user: Any):
    answer = browser(make_user(is_staff=True)).get(PATH)
    assert (answer.status_code, code_of(answer)) == (403, "permission_denied")


@pytest.mark.parametrize(
    ("query", "acts"),
    [
        ({"act": "schedule.paused"}, ["schedule.paused"]),
        ({"source": "admin"}, ["schedule.paused"]),
        ({"request_id": "request-0001"}, ["schedule.paused"]),
        ({"subject": "{schedule}"}, ["schedule.paused"]),
        ({"subject": "{limits}"}, ["limitset.added"]),
        ({"whom": "{alice}", "kind": "schedule"}, ["schedule.paused"]),
        ({"who": "{olivia}"}, ["schedule.paused"]),
        ({"kind": "schedule", "since": "2026-06-01T08:00:01Z"}, []),
        ({"kind": "schedule", "until": "2026-06-01T08:00:01Z"}, ["schedule.paused"]),
        ({"subject": "sch_none"}, []),
    ],
)
def test_each_filter_narrows(query: dict[str, str], acts: list[str], entries: dict[str, Any], olivia: Any, alice: Any):
    ids = {
        "schedule": entries["schedule"].public_id, "limits": entries["limits"].pk, "alice": person_key(alice),
        "olivia": person_key(olivia),
    }  # fmt: skip
    answer = browser(olivia).get(PATH, {name: value.format(**ids) for name, value in query.items()})
    assert [row["act"] for row in answer.json()["results"]] == acts


def test_pages_follow_each_other_newest_first(olivia: Any):
    for number in range(5):
        audit(act="globalstop.changed", actor=olivia, after={"n": number}, now=NOW)
    client, address, seen = browser(olivia), f"{PATH}?act=globalstop.changed&limit=2", []
    while address:
        page = client.get(address).json()
        seen += [row["after"]["n"] for row in page["results"]]
        address = page["next"]
    assert seen == [4, 3, 2, 1, 0]


def test_nothing_is_written_through_the_api(olivia: Any):
    client = browser(olivia)
    for method in ("post", "put", "patch", "delete"):
        assert getattr(client, method)(PATH, {}, format="json").status_code == 405


def test_a_page_costs_four_queries_however_many_entries(
    entries: dict[str, Any], olivia: Any, django_assert_max_num_queries
):
    client = browser(olivia)
    client.get(PATH)
    for number in range(60):
        audit(act="user.access", actor=olivia, subject=olivia, after={"n": number}, now=NOW)
    with django_assert_max_num_queries(5):
        client.get(PATH)
