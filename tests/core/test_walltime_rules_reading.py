"""Reading RFC 5545 rules: what is refused, under which code."""

from datetime import datetime

import pytest

from core.walltime import RuleError, parse_rule

START = datetime(2026, 5, 1, 7, 30)

WRONG = [
    ("FREQ=SECONDLY", "cadence_too_complex"),
    ("FREQ=HOURLY;BYDAY=MO", "cadence_too_complex"),
    ("FREQ=MINUTELY;BYHOUR=9", "cadence_too_complex"),
    ("FREQ=DAILY;BYSECOND=30", "cadence_too_complex"),
    ("FREQ=YEARLY;INTERVAL=9", "cadence_too_complex"),
    ("FREQ=DAILY;INTERVAL=100000", "cadence_too_complex"),
    ("", "cadence_invalid"),
    ("DAILY", "cadence_invalid"),
    ("FREQ=OFTEN", "cadence_invalid"),
    ("FREQ=DAILY;FREQ=WEEKLY", "cadence_invalid"),
    ("FREQ=DAILY;COUNT=0", "cadence_invalid"),
    ("FREQ=DAILY;COUNT=-1", "cadence_invalid"),
    ("FREQ=DAILY;INTERVAL=0", "cadence_invalid"),
    ("FREQ=DAILY;INTERVAL=1.5", "cadence_invalid"),
    ("FREQ=DAILY;COUNT=2;UNTIL=20270101", "cadence_invalid"),
    ("FREQ=DAILY;UNTIL=20260231", "cadence_invalid"),
    ("FREQ=DAILY;UNTIL=tomorrow", "cadence_invalid"),
    ("FREQ=DAILY;BYDAY=2MO", "cadence_invalid"),
    ("FREQ=WEEKLY;BYMONTHDAY=3", "cadence_invalid"),
    ("FREQ=MONTHLY;BYWEEKNO=3", "cadence_invalid"),
    ("FREQ=MONTHLY;BYYEARDAY=3", "cadence_invalid"),
    ("FREQ=YEARLY;BYWEEKNO=3;BYDAY=2MO", "cadence_invalid"),
    ("FREQ=MONTHLY;BYDAY=0MO", "cadence_invalid"),
    ("FREQ=MONTHLY;BYMONTHDAY=32", "cadence_invalid"),
    ("FREQ=MONTHLY;BYMONTHDAY=0", "cadence_invalid"),
    ("FREQ=MONTHLY;BYSETPOS=1", "cadence_invalid"),
    ("FREQ=DAILY;BYHOUR=24", "cadence_invalid"),
    ("FREQ=DAILY;BYHOUR=٣", "cadence_invalid"),
    ("FREQ=DAILY;BYHOUR=-1", "cadence_invalid"),
    ("FREQ=DAILY;BYMONTH=", "cadence_invalid"),
    ("FREQ=DAILY;BYEASTER=1", "cadence_invalid"),
    ("FREQ=DAILY;WKST=XX", "cadence_invalid"),
    ("FREQ=DAILY\nCOUNT=3", "cadence_invalid"),
    ("FREQ=DAILY;BYHOUR=" + ",".join(["9"] * 2000), "cadence_invalid"),
]


@pytest.mark.parametrize(("text", "code"), WRONG)
def test_rules_that_are_not_offered_say_what_works(text, code):
    """cadence.md: SECONDLY and whatever cannot be answered within the bound is `cadence_too_complex`."""
    with pytest.raises(RuleError) as told:
        parse_rule(text, START)
    assert told.value.code == code
    assert len(told.value.problem) > 20


def test_case_prefix_and_a_last_semicolon_do_not_matter():
    assert parse_rule("rrule:freq=daily;byday=mo;", START) == parse_rule("FREQ=DAILY;BYDAY=MO", START)
