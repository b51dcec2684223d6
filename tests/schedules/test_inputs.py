"""The wire body: strict types, bounds at both ends, one answer for all of them."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from core.errors import Refusal
from schedules.inputs import schedule_input

FAMILY = "👨‍👩‍👧‍👦"


@pytest.fixture
def read(alice, now, make_schedule):
    """Read a body as an edit, so that one field can stand alone."""
    stored = make_schedule(owner=alice)

    def read_one(**fields):
        return schedule_input(fields, owner=alice, stored=stored, now=now).values

    return read_one


def refusals(read, **fields):
    with pytest.raises(Refusal) as caught:
        read(**fields)
    return [(error.path, error.code) for error in caught.value.fields]


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("name", "", "required"),
        ("name", "  ", "required"),
        ("name", None, "required"),
        ("name", 7, "wrong_type"),
        ("name", "x" * 201, "too_long"),
        ("name", FAMILY * 201, "too_long"),
        ("name", "a\x00b", "wrong_type"),
        ("prompt", "x" * 32_001, "too_long"),
        ("prompt", ["x"], "wrong_type"),
        ("agent", "", "required"),
        ("agent", 5, "wrong_type"),
        ("project", 5, "wrong_type"),
        ("cadence", None, "required"),
        ("cadence", "daily", "wrong_type"),
        ("zone", "", "required"),
        ("zone", "europe/berlin", "zone_unknown"),
        ("zone", "Europe/../Berlin", "zone_unknown"),
        ("until", "2026-06-05", "wrong_type"),
        ("until", "2026-06-05T07:00:00", "instant_without_offset"),
        ("until", "2026-13-05T07:00:00Z", "wrong_type"),
        ("until", 1780000000, "wrong_type"),
        ("max_runs", 0, "out_of_range"),
        ("max_runs", "3", "wrong_type"),
        ("max_runs", 3.0, "wrong_type"),
        ("max_runs", True, "wrong_type"),
        ("max_runs", 10**30, "out_of_range"),
        ("skip_dates", "2026-06-05", "wrong_type"),
        ("skip_dates", ["2026-02-30"], "wrong_type"),
        ("skip_dates", ["2026-06-05T00:00"], "wrong_type"),
        ("skip_dates", ["2026-06-05"] * 401, "too_long"),
        ("enabled", "true", "wrong_type"),
        ("enabled", 1, "wrong_type"),
        ("enabled", None, "required"),
        ("target", "cnv_something", "conversation_not_found"),
        ("target", 7, "conversation_not_found"),
        ("overlap_policy", "sometimes", "choice_unknown"),
        ("misfire_policy", "skip", "choice_unknown"),
        ("misfire_grace_seconds", -1, "out_of_range"),
        ("misfire_grace_seconds", 604_801, "out_of_range"),
        ("approval_ttl_seconds", 59, "not_offered"),
        ("approval_ttl_seconds", 86_400.0, "not_offered"),
        ("approval_ttl_seconds", None, "not_offered"),
        ("hold_on_approval", True, "not_offered"),
        ("hold_on_approval", 0, "not_offered"),
        ("deadline_seconds", 9, "out_of_range"),
        ("deadline_seconds", 3_601, "out_of_range"),
        ("retry_window_seconds", 86_401, "out_of_range"),
        ("goal", "goa_something", "not_offered"),
        ("monthly_budget", 0, "wrong_type"),
        ("monthly_budget", 5.5, "wrong_type"),
        ("monthly_budget", "1.005", "wrong_type"),
        ("monthly_budget", "-1", "wrong_type"),
        ("monthly_budget", "99999999999", "out_of_range"),
        ("retention", "all", "not_offered"),
        ("retention", {}, "not_offered"),
        ("retention", None, "not_offered"),
        ("retention", {"keep": "last", "n": 30}, "not_offered"),
        ("retention", {"keep": "all", "n": 3}, "not_offered"),
        ("notify", [], "wrong_type"),
        ("next_run_at", "2026-06-05T07:00:00Z", "unknown_field"),
        ("revision", 1, "unknown_field"),
    ],
)
def test_what_does_not_fit_is_refused_at_its_field(read, field, value, code):
    (refusal,) = refusals(read, **{field: value})
    assert (refusal[0].split(".")[0], refusal[1]) == (field, code)


@pytest.mark.parametrize(
    ("field", "value", "path", "code"),
    [
        ("notify", {}, "notify.on", "required"),
        ("notify", {"on": "sometimes"}, "notify.on", "choice_unknown"),
        ("notify", {"on": "always", "channels": "app"}, "notify.channels", "not_offered"),
        ("notify", {"on": "always", "channels": ["app"]}, "notify.channels", "not_offered"),
        ("notify", {"on": "always", "channels": None}, "notify.channels", "not_offered"),
        ("cadence", {"kind": "cron", "expression": "@reboot"}, "cadence.expression", "cadence_invalid"),
        ("cadence", {"time": "09:00"}, "cadence.kind", "required"),
        ("cadence", {"kind": "daily", "time": "09:00", "color": 1}, "cadence.color", "unknown_field"),
    ],
)
def test_inside_an_object_the_path_leads_to_the_member(read, field, value, path, code):
    assert refusals(read, **{field: value}) == [(path, code)]


@pytest.mark.parametrize(
    ("field", "value", "read_as"),
    [
        ("name", " Ünïcode ", "Ünïcode"),
        ("name", "x" * 200, "x" * 200),
        ("name", FAMILY * 100, FAMILY * 100),
        ("prompt", "x" * 32_000, "x" * 32_000),
        ("project", None, None),
        ("until", "2026-06-05T09:00:00+02:00", datetime(2026, 6, 5, 7, tzinfo=UTC)),
        ("until", None, None),
        ("max_runs", 1, 1),
        ("max_runs", None, None),
        ("skip_dates", ["2026-12-26", "2026-12-24", "2026-12-26"], ["2026-12-24", "2026-12-26"]),
        ("target", "new", "new"),
        ("misfire_grace_seconds", 0, 0),
        ("misfire_grace_seconds", 604_800, 604_800),
        ("approval_ttl_seconds", 86_400, 86_400),
        ("deadline_seconds", 10, 10),
        ("deadline_seconds", None, None),
        ("retry_window_seconds", 0, 0),
        ("goal", None, None),
        ("monthly_budget", None, None),
        ("monthly_budget", "5", Decimal(5)),
        ("monthly_budget", "0.00", Decimal(0)),
        ("hold_on_approval", False, False),
        ("retention", {"keep": "all"}, {"keep": "all"}),
        ("notify", {"on": "always"}, {"on": "always", "channels": []}),
        ("notify", {"on": "changed", "channels": []}, {"on": "changed", "channels": []}),
    ],
)
def test_what_fits_is_read_as_it_is_meant(read, field, value, read_as):
    assert read(**{field: value}) == {field: read_as}


def test_ones_own_conversation_as_target_is_not_offered_and_anybody_elses_is_not_there(
    read, alice, bob, make_conversation
):
    mine, other = make_conversation(owner=alice), make_conversation(owner=bob)
    assert refusals(read, target=mine.public_id) == [("target", "not_offered")]
    assert refusals(read, target=other.public_id) == [("target", "conversation_not_found")]


def test_a_create_names_everything_that_is_missing(alice, now):
    with pytest.raises(Refusal) as caught:
        schedule_input({}, owner=alice, now=now)
    assert [(error.path, error.code) for error in caught.value.fields] == [
        ("name", "required"),
        ("prompt", "required"),
        ("agent", "required"),
        ("cadence", "required"),
    ]


def test_one_refusal_has_its_own_code_and_several_are_input_invalid(read):
    with pytest.raises(Refusal) as one:
        read(name="")
    with pytest.raises(Refusal) as several:
        read(name="", prompt="")
    assert (one.value.code, several.value.code) == ("required", "input_invalid")


def test_the_zone_and_the_cadence_are_both_named_when_both_are_wrong(read):
    assert refusals(read, zone="Nowhere/Zone", cadence={"kind": "hourly", "minute": 99}) == [
        ("zone", "zone_unknown"),
        ("cadence.minute", "cadence_invalid"),
    ]


HOSTILE = ["<img src=x onerror=alert(1)>", "\u202etxt", "नमस्ते", "{{date}} {% x %}", "'; DROP TABLE x"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_and_foreign_text_is_kept_as_it_is(read, text):
    """B85."""
    assert read(name=text, prompt=text) == {"name": text, "prompt": text}
