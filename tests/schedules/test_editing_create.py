"""Creating a schedule: what is stored, who may, what is refused, and that a repeated create makes one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import Permission

from accounts.models import IdempotencyKey
from core.errors import Refusal
from schedules.models import Schedule
from schedules.services.editing import schedule_create, schedule_delete


def refused(owner, body, now, **options):
    """Return the refusal of a create, and see that nothing was stored."""
    before = Schedule.objects.count()
    with pytest.raises(Refusal) as caught:
        schedule_create(owner=owner, body=body, now=now, **options)
    assert Schedule.objects.count() == before
    return caught.value


def fields_of(refusal):
    return [(error.path, error.code) for error in refusal.fields]


def test_a_new_schedule_is_armed_for_its_first_occurrence_and_keeps_its_smallest_gap(created, now):
    """R6."""
    schedule = created()
    assert schedule.is_on and schedule.revision == 1
    assert schedule.next_run_at == schedule.next_occurrence_at == datetime(2026, 6, 1, 9, tzinfo=UTC)
    assert (schedule.planned_through, schedule.min_gap_seconds) == (now, 86_400)
    assert schedule.zone_data


def test_without_a_zone_the_owners_zone_is_used(alice, created):
    """B14."""
    alice.zone = "Asia/Tokyo"
    alice.save()
    schedule = created(at=datetime(2026, 6, 1, 8, tzinfo=UTC))
    assert schedule.zone == "Asia/Tokyo"
    assert schedule.next_run_at == datetime(2026, 6, 2, 0, tzinfo=UTC)


def test_one_created_switched_off_is_paused_and_not_armed(created, now):
    schedule = created(enabled=False)
    assert (schedule.enabled, schedule.paused_at, schedule.next_run_at) == (False, now, None)


@pytest.mark.parametrize("zone", ["Europe/Kyiv", "Europe/Kiev"])
def test_zone_names_are_kept_as_given(created, zone):
    """C7, B21."""
    assert created(zone=zone).zone == zone


def test_a_cron_alias_is_stored_expanded(created):
    assert created(cadence={"kind": "cron", "expression": "@daily"}).cadence == {
        "kind": "cron",
        "expression": "0 0 * * *",
    }


def test_a_local_once_is_the_instant_of_its_own_date(created):
    """B11: the offset of that date, not of today."""
    schedule = created(
        at=datetime(2026, 2, 20, 12, tzinfo=UTC),
        zone="America/New_York",
        cadence={"kind": "once", "at": "2026-04-01T09:00"},
    )
    assert schedule.next_run_at == datetime(2026, 4, 1, 13, tzinfo=UTC)


def test_name_and_prompt_are_trimmed_and_counted_as_people_count(created):
    """B83."""
    family = "👨‍👩‍👧‍👦"
    schedule = created(name="  " + "x" * 99 + family + " ", prompt="\n hello \n")
    assert schedule.name == "x" * 99 + family
    assert schedule.prompt == "hello"


def test_without_the_permission_nothing_is_created(make_user, body, now):
    assert refused(make_user(member=False), body, now).code == "permission_denied"


@pytest.mark.parametrize("enabled", [True, False])
def test_with_the_feature_off_nothing_is_created_not_even_a_paused_one(alice, body, now, limit, enabled):
    limit(alice, enabled=False)
    assert refused(alice, {**body, "enabled": enabled}, now).code == "feature_disabled"


def test_the_cap_counts_paused_and_blocked_ones_but_not_completed_or_deleted_ones(
    alice, body, now, limit, make_schedule
):
    limit(alice, max_schedules=3)
    make_schedule(owner=alice, enabled=False)
    make_schedule(owner=alice, blocked_reason="agent_deleted")
    make_schedule(owner=alice, completed_at=now)
    make_schedule(owner=alice, deleting_at=now)
    schedule_create(owner=alice, body=body, now=now)
    refusal = refused(alice, body, now)
    assert (refusal.code, refusal.status, refusal.params) == ("schedule_limit", 400, {"used": 3, "most": 3})


def test_the_gate_is_asked_so_that_the_next_fire_accepts_what_was_accepted(make_user, body, now):
    """R18: who may create but no longer use schedules would be refused at the first fire."""
    person = make_user(member=False)
    person.user_permissions.add(Permission.objects.get(codename="create_schedules"))
    assert refused(person, body, now).code == "permission_revoked"


@pytest.mark.parametrize(
    "agent_fields", [{"enabled": False}, {"deleted_at": datetime(2026, 1, 1, tzinfo=UTC)}, {"owner": "bob"}]
)
def test_an_agent_that_is_off_gone_or_somebody_elses_is_not_found(alice, bob, body, now, make_agent, agent_fields):
    fields = {**agent_fields, **({"owner": bob} if "owner" in agent_fields else {})}
    refusal = refused(alice, {**body, "agent": make_agent(**fields).public_id}, now)
    assert fields_of(refusal) == [("agent", "agent_not_found")]


def test_every_refused_field_is_named_in_one_answer(alice, now):
    sent = {
        "name": " ",
        "agent": "agt_nobody",
        "cadence": {"kind": "daily", "time": "25:00"},
        "zone": "Nowhere/Zone",
        "project": "prj_nothing",
        "colour": 3,
    }
    refusal = refused(alice, sent, now)
    assert refusal.code == "input_invalid"
    assert sorted(fields_of(refusal)) == [
        ("agent", "agent_not_found"),
        ("cadence.time", "cadence_invalid"),
        ("colour", "unknown_field"),
        ("name", "required"),
        ("project", "project_not_found"),
        ("prompt", "required"),
        ("zone", "zone_unknown"),
    ]


def test_a_rule_below_the_owners_floor_is_refused_at_its_field_in_words(alice, body, now, limit):
    limit(alice, min_interval_seconds=5400)
    refusal = refused(alice, {**body, "cadence": {"kind": "cron", "expression": "0 9,10 1 * *"}}, now)
    assert fields_of(refusal) == [("cadence.expression", "cadence_below_floor")]
    assert refusal.text == "It runs every 60 minutes; 90 minutes is the least here."


def test_an_end_before_the_first_occurrence_is_refused_at_the_end(alice, body, now):
    refusal = refused(alice, {**body, "until": "2026-06-01T08:30:00Z"}, now)
    assert fields_of(refusal) == [("until", "cadence_never_fires")]


def test_the_end_itself_still_counts(created):
    assert created(until="2026-06-01T09:00:00Z").is_on


def test_the_same_key_and_body_give_the_same_schedule_whatever_became_of_policy_and_cap(
    alice, body, now, limit, policy
):
    """P7: the look-up comes before every validation and policy."""
    first, replayed = schedule_create(owner=alice, body=body, now=now, key="k1")
    assert not replayed
    limit(alice, enabled=False, max_schedules=0, min_interval_seconds=10**6)
    policy(alice, require_project=True)
    again, replayed = schedule_create(owner=alice, body=dict(reversed(body.items())), now=now, key="k1")
    assert replayed and again.pk == first.pk
    assert Schedule.objects.count() == 1


@pytest.mark.parametrize("change", [{"name": "Other"}, {"project": None}, {"name": "Morning "}, {"nonsense": 1}])
def test_the_same_key_with_another_body_conflicts_before_it_is_validated(alice, body, now, change):
    """Omitted and null differ; nothing is trimmed and no default filled in."""
    schedule_create(owner=alice, body=body, now=now, key="k1")
    assert refused(alice, {**body, **change}, now, key="k1").code == "idempotency_conflict"


def test_a_key_of_somebody_else_is_another_key(alice, bob, body, now):
    one, _ = schedule_create(owner=alice, body=body, now=now, key="k1")
    other, replayed = schedule_create(owner=bob, body=body, now=now, key="k1")
    assert not replayed and other.pk != one.pk


def test_a_refused_create_uses_up_no_key(alice, body, now):
    refused(alice, {**body, "name": ""}, now, key="k1")
    assert not IdempotencyKey.objects.exists()
    assert not schedule_create(owner=alice, body=body, now=now, key="k1")[1]


def test_a_deleted_schedule_is_not_brought_back_by_a_repeated_create(alice, body, now):
    schedule, _ = schedule_create(owner=alice, body=body, now=now, key="k1")
    assert schedule_delete(schedule=schedule, now=now + timedelta(minutes=1))
    assert refused(alice, body, now + timedelta(hours=23), key="k1").code == "gone"


def test_without_a_key_every_create_is_a_new_act(alice, body, now):
    for _ in range(2):
        schedule_create(owner=alice, body=body, now=now)
    assert Schedule.objects.count() == 2
