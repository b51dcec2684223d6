"""Cadences as sentences for people, by their locale and clock."""

import re

import pytest
from hypothesis import given, settings

from schedules.domain.cadence import CadenceError, stored_cadence
from schedules.domain.describe import describe, describe_short
from tests.schedules.domain.cadences import CADENCES, read

ANCHOR = {"anchor": "2026-06-28"}


def rule(text):
    return {"kind": "rrule", "dtstart": "2026-06-07T10:00", "rule": text}


def expr(text):
    return {"kind": "cron", "expression": text}


SENTENCES = [
    ({"kind": "once", "at": "2026-07-01T09:00"}, "Once on Wednesday 1 July 2026 at 09:00",
     "Once on 1 July 2026 at 09:00"),
    ({"kind": "once", "at": "2026-10-25T01:30:00Z"}, "Once on Sunday 25 October 2026 at 02:30 UTC+01:00", None),
    ({"kind": "once", "at": "2026-07-01T09:00:30"}, "Once on Wednesday 1 July 2026 at 09:00:30", None),
    ({"kind": "hourly", "minute": 5}, "Every hour at :05", "Every hour at :05"),
    ({"kind": "daily", "time": "18:00"}, "Every day at 18:00", "Every day at 18:00"),
    ({"kind": "daily", "time": "18:00", "every": 3} | ANCHOR, "Every 3 days at 18:00, from 28 June 2026",
     "Every 3 days at 18:00"),
    ({"kind": "weekdays", "time": "08:00"}, "Every weekday at 08:00", "Every weekday at 08:00"),
    ({"kind": "weekly", "days": ["wed", "sun"], "time": "02:30"}, "Every Wednesday and Sunday at 02:30",
     "Wednesdays and Sundays at 02:30"),
    ({"kind": "weekly", "days": ["fri"], "time": "09:00"}, "Every Friday at 09:00", "Fridays at 09:00"),
    ({"kind": "weekly", "days": ["mon", "wed", "fri"], "time": "09:00"}, "Every Monday, Wednesday and Friday at 09:00",
     None),
    ({"kind": "weekly", "days": ["sun"], "time": "09:00", "every": 2} | ANCHOR,
     "Every 2 weeks on Sunday at 09:00, from 28 June 2026", "Every 2 weeks on Sunday at 09:00"),
    ({"kind": "monthly", "day": "last", "time": "08:00"}, "On the last day of every month at 08:00", None),
    ({"kind": "monthly", "day": 31, "time": "08:00"}, "On the 31st of every month at 08:00", None),
    ({"kind": "monthly", "day": 12, "time": "08:00"}, "On the 12th of every month at 08:00", None),
    ({"kind": "monthly", "nth": 2, "weekday": "tue", "time": "10:00"}, "On the second Tuesday of every month at 10:00",
     None),
    ({"kind": "yearly", "month": 2, "day": 29, "time": "08:00"}, "Every year on 29 February at 08:00", None),
    ({"kind": "interval", "every": 2, "unit": "hours", "anchor": "2026-06-05T10:40:00Z"}, "Every 2 hours at :40",
     "Every 2 hours at :40"),
    ({"kind": "interval", "every": 90, "unit": "minutes", "anchor": "2026-06-05T10:40:00Z"},
     "Every 90 minutes, counted from 5 June 2026 at 12:40", "Every 90 minutes"),
    (expr("0 8 * * 1-5"), "Every weekday at 08:00 (0 8 * * 1-5)", None),
    (expr("0 8 * * 0"), "Sundays at 08:00 (0 8 * * 0)", None),
    (expr("0 8 * * mon,wed"), "Mondays and Wednesdays at 08:00 (0 8 * * mon,wed)", None),
    (expr("0 8 * * 0-6"), "Every day at 08:00 (0 8 * * 0-6)", None),
    (expr("0 9,17 * * *"), "Every day at 09:00 and 17:00 (0 9,17 * * *)", None),
    (expr("0 0 L * *"), "On the last day of every month at 00:00 (0 0 L * *)", None),
    (expr("0 0 * * 5L"), "On the last Friday of every month at 00:00 (0 0 * * 5L)", None),
    (expr("0 0 1 1 *"), "Every year on 1 January at 00:00 (0 0 1 1 *)", None),
    (expr("*/15 * * * *"), "Every 15 minutes (*/15 * * * *)", None),
    (expr("5 * * * 1-5"), "Every weekday, every hour at :05 (5 * * * 1-5)", None),
    (rule("FREQ=DAILY;COUNT=3"), "Every day at 10:00, 3 times from 7 June 2026 (FREQ=DAILY;COUNT=3)", None),
    (rule("FREQ=WEEKLY;BYDAY=MO;UNTIL=20261231"), "Mondays at 10:00, until 31 December 2026 "
     "(FREQ=WEEKLY;BYDAY=MO;UNTIL=20261231)", None),
    (rule("FREQ=MONTHLY;BYDAY=-1FR"), "On the last Friday of every month at 10:00 (FREQ=MONTHLY;BYDAY=-1FR)", None),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "full", "short"), SENTENCES)
def test_the_sentence_and_the_short_form(sent, full, short):
    """cadence.md, Words for people; design, dialog and panel."""
    cadence = read(sent, "Europe/Berlin")
    assert describe(cadence, "Europe/Berlin") == f"{full}, Europe/Berlin"
    if short:
        assert describe_short(cadence, "Europe/Berlin") == short


INEXACT = ["0 8 20-28 * 1-5", "0 */4 * * *", "*/7 * * * *", "0 0 31 * *", "0 9 29 2 *", "*/15 2 * * *", "0 0 */10 * *",
           "0 0 1,15 * *", "0 0 * 6 1", "0 0,1,2,3,4,5 * * *", "0 0 * * */2", "0 0 LW * *"]  # fmt: skip


@pytest.mark.parametrize("expression", INEXACT)
def test_cron_without_exact_words_is_shown_as_it_is(expression):
    """cadence.md: cron is shown in words when the words are exact."""
    told = describe(read(expr(expression)), "UTC")
    assert told == f"By the cron expression {expression}, UTC"


@pytest.mark.parametrize(
    "text",
    ["FREQ=DAILY;BYHOUR=1,2", "FREQ=MONTHLY;BYMONTHDAY=31", "FREQ=MONTHLY;INTERVAL=2", "FREQ=YEARLY;BYDAY=20MO",
     "FREQ=WEEKLY;INTERVAL=2;WKST=SU", "FREQ=MONTHLY;BYDAY=5FR", "FREQ=WEEKLY;BYDAY=MO,TU;BYSETPOS=1"],
)  # fmt: skip
def test_rules_without_exact_words_are_shown_as_they_are(text):
    assert describe(read(rule(text)), "UTC") == f"By the rule {text} from 7 June 2026, UTC"


def test_times_and_dates_follow_the_persons_clock_and_locale():
    """interfaces.md: weekday order and clock by the person's locale."""
    american = {"locale": "en-US", "clock": 12, "first_weekday": 6}
    weekly = read({"kind": "weekly", "days": ["wed", "sun"], "time": "00:30"})
    assert describe_short(weekly, "UTC", **american) == "Sundays and Wednesdays at 12:30 am"
    once = read({"kind": "once", "at": "2026-07-01T12:05"})
    assert describe(once, "UTC", **american) == "Once on Wednesday July 1, 2026 at 12:05 pm, UTC"
    assert describe_short(weekly, "UTC", clock="24") == "Wednesdays and Sundays at 00:30"
    yearly = read({"kind": "yearly", "month": 3, "day": 1, "time": "13:00"})
    assert describe_short(yearly, "UTC", **american) == "Every year on March 1 at 1:00 pm"


def test_an_interval_whose_minute_wanders_is_counted_from_its_anchor():
    """Lord Howe changes by half an hour, so that a grid of hours has no minute of its own there."""
    hours = read({"kind": "interval", "every": 2, "unit": "hours", "anchor": "2026-06-05T10:40:00Z"})
    told = describe(hours, "Australia/Lord_Howe")
    assert told == "Every 2 hours, counted from 5 June 2026 at 21:10, Australia/Lord_Howe"


def test_every_template_goes_through_the_translation():
    """Every word of the sentence comes from a template, none is glued on untranslated."""
    german = {"Every weekday at {time}": "Werktags um {time}", "{sentence}, {zone}": "{sentence} ({zone})"}
    cadence = read({"kind": "weekdays", "time": "08:00"})
    assert (
        describe(cadence, "Europe/Berlin", translate=lambda text: german[text]) == "Werktags um 08:00 (Europe/Berlin)"
    )


@settings(max_examples=150, deadline=None)
@given(sent=CADENCES)
def test_every_cadence_has_a_sentence(sent):
    """No placeholder is left open, the expression stands beside its words."""
    try:
        cadence = stored_cadence(sent)
    except CadenceError:
        return
    for told in (describe(cadence, "Asia/Kathmandu"), describe_short(cadence, "Asia/Kathmandu", clock=12)):
        assert told
        assert not re.search(r"[{}]", told)
        assert sent.get("expression", "") in told
