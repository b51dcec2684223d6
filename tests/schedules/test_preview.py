"""The preview says what a create would do, in words and instants, and refuses what a create would refuse."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from core.errors import Refusal
from schedules.models import Schedule
from schedules.services.editing import schedule_create
from schedules.services.preview import schedule_preview

CASES = json.loads((Path(__file__).parents[1] / "cases" / "cadence.json").read_text())


def preview(owner, now, **body):
    return schedule_preview(owner=owner, body=body, now=now)


@pytest.mark.parametrize("case", CASES["occurrences"], ids=lambda case: case["id"])
def test_the_worked_examples_are_listed_from_after_on(alice, now, limit, case):
    """B01 to B42 by their instants."""
    limit(alice, min_interval_seconds=60)
    expected = [at for at in case["expect"] if at is not None]
    found = preview(alice, now, cadence=case["cadence"], zone=case["zone"], after=case["after"], count=len(expected))
    assert [occurrence["at"] for occurrence in found["occurrences"]] == expected


@pytest.mark.parametrize("case", CASES["refused"], ids=lambda case: case["id"])
def test_what_a_create_refuses_the_preview_refuses_alike(alice, body, now, limit, case):
    limit(alice, min_interval_seconds=case.get("min_interval_minutes", 60) * 60)
    sent = {"cadence": case["cadence"], "zone": case.get("zone", "UTC")}
    refusals = []
    for act in (
        lambda: preview(alice, now, **sent),
        lambda: schedule_create(owner=alice, body={**body, **sent}, now=now),
    ):
        with pytest.raises(Refusal) as caught:
            act()
        refusals.append([(error.path, error.code, error.text) for error in caught.value.fields])
    assert refusals[0] == refusals[1]
    assert [(path.rpartition(".")[2], code) for path, code, _ in refusals[0]] == [(case["field"], case["code"])]


@pytest.mark.parametrize("case", CASES["accepted"], ids=lambda case: case["id"])
def test_what_a_create_accepts_the_preview_accepts(alice, now, limit, case):
    limit(alice, min_interval_seconds=case["min_interval_minutes"] * 60)
    assert preview(alice, now, cadence=case["cadence"], zone=case["zone"])["occurrences"]


def test_five_occurrences_with_local_times_in_the_owners_zone_unless_another_is_named(alice, now):
    alice.zone = "Asia/Shanghai"
    found = preview(alice, now, cadence={"kind": "monthly", "day": 17, "time": "04:00"})
    assert len(found["occurrences"]) == 5
    assert found["occurrences"][0] == {"at": "2026-06-16T20:00:00Z", "local": "2026-06-17T04:00", "shifted": False}
    assert found["description"].endswith("Asia/Shanghai")
    assert preview(alice, now, cadence={"kind": "weekdays", "time": "04:00"}, zone="UTC")["description"].endswith("UTC")


def test_seconds_of_a_single_date_are_shown(alice, now):
    found = preview(alice, now, cadence={"kind": "once", "at": "2026-06-17T04:00:30"})
    assert [occurrence["local"] for occurrence in found["occurrences"]] == ["2026-06-17T04:00:30"]


def test_an_occurrence_moved_by_a_clock_change_says_so(alice, now):
    """C2, B06."""
    found = preview(
        alice,
        now,
        cadence={"kind": "daily", "time": "02:30"},
        zone="America/New_York",
        after="2026-03-07T12:00:00Z",
        count=1,
    )
    assert found["occurrences"] == [{"at": "2026-03-08T07:00:00Z", "local": "2026-03-08T03:00", "shifted": True}]
    assert "clock_shifted" in [warning["code"] for warning in found["warnings"]]


@pytest.mark.parametrize(
    ("cadence", "code"),
    [
        ({"kind": "cron", "expression": "0 8 20-28 * 1-5"}, "cron_either_day"),
        ({"kind": "monthly", "day": 31, "time": "09:00"}, "day_in_short_months"),
        ({"kind": "yearly", "month": 2, "day": 29, "time": "08:00"}, "leap_day"),
    ],
)
def test_what_a_person_should_know_is_said_before_saving(alice, now, cadence, code):
    """B26, B41."""
    warnings = preview(alice, now, cadence=cadence)["warnings"]
    assert code in [warning["code"] for warning in warnings]
    assert all(warning["text"] for warning in warnings)


def test_the_spread_is_told_except_for_a_single_date(alice, now, settings):
    """C8: nominal times, and how far a run may be from them."""
    settings.SCHEDULE_SPREAD_SECONDS = 60
    daily = preview(alice, now, cadence={"kind": "daily", "time": "09:00"})
    once = preview(alice, now, cadence={"kind": "once", "at": "2026-06-17T04:00"})
    assert {"code": "spread", "text": "Each run starts within 60 s of the time shown."} in daily["warnings"]
    assert once["warnings"] == []
    assert daily["occurrences"][0]["at"] == "2026-06-01T09:00:00Z"


def test_after_stands_for_now_also_in_refusals(alice, now):
    once = {"kind": "once", "at": "2020-01-01T09:00"}
    assert preview(alice, now, cadence=once, after="2019-01-01T00:00:00Z")["occurrences"]
    with pytest.raises(Refusal) as caught:
        preview(alice, now, cadence={"kind": "once", "at": "2026-06-17T04:00"}, after="2027-01-01T00:00:00Z")
    assert caught.value.code == "cadence_never_fires"


@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        ({}, "cadence", "required"),
        ({"cadence": {"kind": "hourly", "minute": 0}, "count": 0}, "count", "out_of_range"),
        ({"cadence": {"kind": "hourly", "minute": 0}, "count": 51}, "count", "out_of_range"),
        ({"cadence": {"kind": "hourly", "minute": 0}, "after": "2026-06-01T08:00"}, "after", "instant_without_offset"),
        ({"cadence": {"kind": "hourly", "minute": 0}, "name": "x"}, "name", "unknown_field"),
    ],
)
def test_what_it_does_not_know_is_refused(alice, now, body, path, code):
    with pytest.raises(Refusal) as caught:
        preview(alice, now, **body)
    assert [(error.path, error.code) for error in caught.value.fields] == [(path, code)]


def test_a_preview_stores_nothing(alice, now, django_assert_max_num_queries):
    with django_assert_max_num_queries(4):
        preview(alice, now, cadence={"kind": "daily", "time": "09:00"}, count=50)
    assert not Schedule.objects.exists()


def test_on_leap_day_every_kind_can_be_previewed(alice):
    """B31."""
    now = datetime.fromisoformat("2028-02-29T12:00:00Z")
    for cadence in (
        {"kind": "daily", "time": "09:00"},
        {"kind": "monthly", "day": 29, "time": "09:00"},
        {"kind": "yearly", "month": 2, "day": 29, "time": "09:00"},
        {"kind": "cron", "expression": "0 9 29 2 *"},
    ):
        assert preview(alice, now, cadence=cadence)["occurrences"]
