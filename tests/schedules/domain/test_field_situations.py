"""Situations from the field that are about the calendar, each under its number."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from core.errors import sentence
from schedules.domain.cadence import CadenceError, to_wire
from schedules.domain.describe import warnings
from schedules.domain.floor import min_gap_seconds
from schedules.domain.misfire import plan
from schedules.domain.occurrences import next_occurrence, occurrences
from tests.schedules.domain.cadences import at, cron, read, upcoming


def daily(clock):
    return {"kind": "daily", "time": clock}


def test_b01_weekdays_are_those_of_the_zone():
    found = upcoming({"kind": "weekdays", "time": "04:10"}, "Asia/Singapore", "2026-06-05T04:00:00Z")
    assert found == ["2026-06-07T20:10:00Z", "2026-06-08T20:10:00Z", "2026-06-09T20:10:00Z"]


def test_b02_a_daily_time_keeps_its_wall_clock_over_the_change():
    found = upcoming(daily("21:30"), "America/Los_Angeles", "2026-10-31T12:00:00Z", 2)
    assert found == ["2026-11-01T04:30:00Z", "2026-11-02T05:30:00Z"]


def test_b04_winter_hours_follow_the_winter_clock():
    found = upcoming(daily("06:00"), "Europe/Berlin", "2026-10-23T22:00:00Z", 2)
    assert found == ["2026-10-24T04:00:00Z", "2026-10-25T05:00:00Z"]


def test_b05_an_hourly_job_runs_in_both_passes_and_the_two_can_be_told_apart():
    cadence = read({"kind": "hourly", "minute": 0}, "America/Los_Angeles")
    found = occurrences(cadence, "America/Los_Angeles", at("2026-11-01T07:30:00Z"), limit=3)
    assert [o.at.hour for o in found] == [8, 9, 10]
    assert [(o.local.hour, o.local.fold) for o in found] == [(1, 0), (1, 1), (2, 0)]


def test_b06_a_lost_time_runs_once_that_day_and_on_the_next():
    found = upcoming(daily("02:30"), "America/New_York", "2026-03-07T12:00:00Z", 2)
    assert found == ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"]


def test_b07_a_repeated_time_runs_once():
    found = upcoming(daily("01:30"), "America/New_York", "2026-10-31T12:00:00Z", 2)
    assert found == ["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"]


def test_b08_midnight_on_a_25_hour_day_is_found_at_once():
    begin = time.process_time()
    found = upcoming(daily("00:00"), "Europe/London", "2026-10-23T12:00:00Z")
    assert time.process_time() - begin < 0.1
    assert found == ["2026-10-23T23:00:00Z", "2026-10-24T23:00:00Z", "2026-10-26T00:00:00Z"]


def test_b10_a_weekly_cron_runs_on_the_day_of_the_change():
    found = upcoming(cron("0 8 * * 0"), "America/Chicago", "2026-03-08T05:45:00Z", 2)
    assert found == ["2026-03-08T13:00:00Z", "2026-03-15T13:00:00Z"]


def test_b11_a_date_beyond_the_change_takes_its_own_offset():
    once = {"kind": "once", "at": "2026-04-01T09:00"}
    assert upcoming(once, "America/New_York", "2026-02-20T12:00:00Z") == ["2026-04-01T13:00:00Z"]


def test_b12_another_zone_moves_the_wall_clock_and_nothing_runs_twice():
    """C1, C12: after the edit at noon on Monday only the Berlin evening is left of that Tuesday."""
    cadence = read({"kind": "weekly", "days": ["tue"], "time": "21:00"}, "Australia/Sydney")
    assert upcoming(cadence, "Australia/Sydney", "2026-05-18T12:00:00Z", 1) == ["2026-05-19T11:00:00Z"]
    found = upcoming(cadence, "Europe/Berlin", "2026-05-18T12:00:00Z", 2)
    assert found == ["2026-05-19T19:00:00Z", "2026-05-26T19:00:00Z"]


def test_b15_a_daily_job_runs_once_a_day():
    found = upcoming(daily("09:00"), "Europe/Vienna", "2026-06-04T22:00:00Z", 2)
    assert found == ["2026-06-05T07:00:00Z", "2026-06-06T07:00:00Z"]


def test_b16_daily_and_monthly_agree_on_the_hour():
    after = "2026-06-16T04:00:00Z"
    assert upcoming(daily("04:00"), "Asia/Shanghai", after, 1) == ["2026-06-16T20:00:00Z"]
    monthly = {"kind": "monthly", "day": 17, "time": "04:00"}
    assert upcoming(monthly, "Asia/Shanghai", after, 1) == ["2026-06-16T20:00:00Z"]


@pytest.mark.parametrize(
    ("sent", "runs"),
    [("2026-05-11T16:00:00Z", "2026-05-11T16:00:00Z"), ("2026-05-11T16:00", "2026-05-11T21:00:00Z")],
)
def test_b17_an_instant_is_an_instant_and_a_local_time_is_local(sent, runs):
    once = {"kind": "once", "at": sent}
    assert upcoming(once, "America/Chicago", "2026-05-01T00:00:00Z") == [runs]
    assert to_wire(read(once, "America/Chicago", at("2026-05-01T00:00:00Z"))) == once


@pytest.mark.parametrize(
    ("zone", "after", "runs"),
    [
        ("Asia/Kathmandu", "2026-03-01T02:30:00Z", "2026-03-01T03:15:00Z"),
        ("Pacific/Chatham", "2026-06-30T19:30:00Z", "2026-06-30T20:15:00Z"),
        ("America/St_Johns", "2026-07-01T11:00:00Z", "2026-07-01T11:30:00Z"),
    ],
)
def test_b18_an_hourly_job_runs_on_the_zones_own_hour(zone, after, runs):
    assert upcoming({"kind": "hourly", "minute": 0}, zone, after, 1) == [runs]


def test_b20_a_change_of_half_an_hour_runs_once():
    found = upcoming(daily("01:45"), "Australia/Lord_Howe", "2026-04-04T00:00:00Z", 2)
    assert found == ["2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"]


@pytest.mark.parametrize("zone", ["Europe/Kyiv", "Europe/Kiev"])
def test_b21_both_names_of_a_zone_work(zone):
    assert upcoming(daily("09:00"), zone, "2026-03-28T12:00:00Z", 1) == ["2026-03-29T06:00:00Z"]


def test_b22_old_names_run_from_the_bundled_data_and_unknown_ones_are_told():
    """C7."""
    assert upcoming(daily("09:00"), "US/Pacific", "2026-06-05T12:00:00Z", 1) == ["2026-06-05T16:00:00Z"]
    with pytest.raises(CadenceError) as told:
        next_occurrence(read(daily("09:00")), "Nowhere/Zone", at("2026-06-05T12:00:00Z"))
    assert (told.value.code, told.value.field, told.value.params) == ("zone_unknown", "zone", {"zone": "Nowhere/Zone"})


@pytest.mark.parametrize("month", ["01", "07"])
def test_b23_the_zone_data_are_recent(month):
    found = upcoming(daily("09:00"), "America/Chihuahua", f"2026-{month}-10T00:00:00Z", 1)
    assert found == [f"2026-{month}-10T15:00:00Z"]


def test_b26_both_day_fields_mean_either_and_are_warned_about():
    cadence = cron("0 8 20-28 * 1-5")
    after = at("2026-09-14T00:00:00Z")
    assert [o.at.day for o in occurrences(cadence, "UTC", after, limit=8)] == [14, 15, 16, 17, 18, 20, 21, 22]
    (note,) = warnings(cadence, "UTC", after)
    assert "either" in sentence(note.code, note.params).lower()


def test_b27_either_day_field_gives_61_days_in_2026():
    year = at("2025-12-31T23:59:00Z"), at("2026-12-31T23:59:00Z")
    assert len(occurrences(cron("0 0 13 * 5"), "UTC", *year, limit=400)) == 61


@pytest.mark.parametrize("weekday", ["0", "7", "SUN", "sun"])
def test_b28_zero_and_seven_are_sunday(weekday):
    assert upcoming(cron(f"0 2 * * {weekday}"), "UTC", "2026-09-18T12:00:00Z", 1) == ["2026-09-20T02:00:00Z"]


def test_b28_one_to_five_are_monday_to_friday():
    assert upcoming(cron("0 2 * * 1-5"), "UTC", "2026-09-18T12:00:00Z", 1) == ["2026-09-21T02:00:00Z"]


def test_b30_a_step_of_days_begins_again_each_month():
    assert upcoming(cron("0 0 */10 * *"), "UTC", "2021-02-21T00:00:00Z", 1) == ["2021-03-01T00:00:00Z"]


def test_b31_nothing_breaks_on_29_february():
    now = at("2028-02-29T12:00:00Z")
    kinds = [
        daily("09:00"),
        daily("09:00") | {"every": 3},
        {"kind": "monthly", "day": 31, "time": "09:00"},
        {"kind": "monthly", "nth": "last", "weekday": "tue", "time": "09:00"},
        {"kind": "yearly", "month": 2, "day": 29, "time": "09:00"},
        {"kind": "weekly", "days": ["tue"], "time": "09:00", "every": 2},
    ]
    for cadence in kinds:
        read_one = read(cadence, "UTC", now)
        assert read(to_wire(read_one), "UTC", now, previous=read_one) == read_one
        assert occurrences(read_one, "UTC", now, limit=20)
    assert upcoming(cron("0 9 29 2 *"), "UTC", "2028-02-29T12:00:00Z", 1) == ["2032-02-29T09:00:00Z"]


def test_b33_a_counted_rule_ends():
    rule = {"kind": "rrule", "dtstart": "2026-05-01T07:30", "rule": "FREQ=DAILY;COUNT=5"}
    assert len(upcoming(rule, "Europe/Rome", "2026-04-30T00:00:00Z", 99)) == 5


def test_b34_a_rule_without_any_date_is_refused_and_one_with_a_single_date_is_not():
    with pytest.raises(CadenceError) as told:
        read({"kind": "cron", "expression": "0 0 31 2 *"})
    assert (told.value.code, told.value.field) == ("cadence_never_fires", "expression")
    single = read({"kind": "rrule", "dtstart": "2026-07-01T09:00", "rule": "FREQ=DAILY;COUNT=1"})
    assert min_gap_seconds(single, "UTC", at("2026-06-05T12:00:00Z")) is None
    assert upcoming(single, "UTC", "2026-06-05T12:00:00Z") == ["2026-07-01T09:00:00Z"]


def test_b36_another_kind_carries_nothing_over():
    weekly = read({"kind": "weekly", "days": ["mon", "wed"], "time": "09:00"})
    changed = read(daily("09:00"), previous=weekly)
    assert to_wire(changed) == daily("09:00")
    assert len(upcoming(changed, "UTC", "2026-06-05T12:00:00Z", 7)) == 7
    with pytest.raises(CadenceError):
        read(daily("09:00") | {"days": ["mon", "wed"]}, previous=weekly)


def test_b37_ten_thirty_one_stays_ten_thirty_one():
    assert to_wire(read(daily("10:31"))) == daily("10:31")


def test_b38_a_window_of_hours_ends_in_the_afternoon():
    found = upcoming(cron("10 8-16 * * *"), "Asia/Jakarta", "2026-07-30T08:30:00Z", 2)
    assert found == ["2026-07-30T09:10:00Z", "2026-07-31T01:10:00Z"]


def test_b39_saving_does_not_flip_a_fortnight():
    """C5: an omitted anchor is filled in once and kept, whenever it is saved again."""
    sent = {"kind": "weekly", "days": ["sun"], "time": "09:00", "every": 2}
    cadence = read(sent, "Europe/Paris", at("2026-06-27T00:00:00Z"))
    for day in (29, 30):
        cadence = read(sent, "Europe/Paris", at(f"2026-06-{day}T00:00:00Z"), previous=cadence)
    found = upcoming(cadence, "Europe/Paris", "2026-06-27T00:00:00Z")
    assert [text[:10] for text in found] == ["2026-06-28", "2026-07-12", "2026-07-26"]


def test_b41_the_31st_is_the_last_day_of_short_months_and_the_form_says_so():
    cadence = read({"kind": "monthly", "day": 31, "time": "09:00"})
    found = upcoming(cadence, "UTC", "2026-01-31T09:00:00Z")
    assert [text[5:10] for text in found] == ["02-28", "03-31", "04-30"]
    assert [note.code for note in warnings(cadence, "UTC", at("2026-01-01T00:00:00Z"))] == ["day_in_short_months"]


def test_b42_29_february_comes_back_in_leap_years():
    """C5."""
    cadence = read({"kind": "yearly", "month": 2, "day": 29, "time": "09:00"})
    found = upcoming(cadence, "UTC", "2028-02-01T00:00:00Z", 5)
    assert [text[:10] for text in found] == ["2028-02-29", "2029-02-28", "2030-02-28", "2031-02-28", "2032-02-29"]


def test_b43_a_restart_over_the_time_leaves_one_late_run():
    """C9: down from 08:29:47 to 08:31:05 over 08:30."""
    cadence = read(daily("08:30"))
    now = datetime(2026, 6, 5, 8, 31, 5, tzinfo=UTC)
    due = occurrences(cadence, "UTC", now - timedelta(hours=1), now)
    (row,) = plan(due, now=now, spread_seconds=0, grace_seconds=900, policy="miss")
    assert (row.verdict, row.late) == ("run", True)


def test_b45_a_night_restart_misses_the_morning():
    """C10: due 11:00 to 11:24, noticed at 22:10, grace 15 minutes."""
    now = datetime(2026, 6, 5, 22, 10, tzinfo=UTC)
    for minute in range(0, 25, 6):
        due = occurrences(read(daily(f"11:{minute:02}")), "UTC", now - timedelta(hours=12), now)
        (row,) = plan(due, now=now, spread_seconds=0, grace_seconds=900, policy="miss")
        assert (row.verdict, row.reason, row.count) == ("missed", "misfire", 1)


def test_b56_b57_after_a_pause_the_next_one_lies_ahead():
    """C12: with the mark moved to now, nothing of the pause is due."""
    every_five = {"kind": "interval", "every": 5, "unit": "minutes", "anchor": "2026-06-01T00:00:00Z"}
    assert upcoming(every_five, "UTC", "2026-06-05T12:01:00Z", 1) == ["2026-06-05T12:05:00Z"]
    assert upcoming({"kind": "hourly", "minute": 0}, "UTC", "2026-06-05T01:55:00Z", 1) == ["2026-06-05T02:00:00Z"]


def test_b58_an_earlier_time_set_after_it_passed_waits_for_tomorrow():
    assert upcoming(daily("08:00"), "UTC", "2026-06-05T10:00:00Z", 1) == ["2026-06-06T08:00:00Z"]
