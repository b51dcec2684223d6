"""RFC 5545 rules: read strictly, answered within bounds, in agreement with dateutil where dateutil can be asked."""

import datetime as plain_datetime
import time
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from types import SimpleNamespace

import pytest
from dateutil import rrule as reference
from hypothesis import given, settings
from hypothesis import strategies as st

from core.walltime import HORIZON, parse_rule, rule_occurrences
from core.walltime import rules_occurrences as engine

START = datetime(2026, 5, 1, 7, 30)


def found(text, dtstart=START, zone="Europe/Rome", after=datetime(2026, 4, 30, tzinfo=UTC), limit=10):
    return list(islice(rule_occurrences(parse_rule(text, dtstart), zone, after), limit))


def instants(text, **given_):
    return [occurrence.at.strftime("%Y-%m-%dT%H:%MZ") for occurrence in found(text, **given_)]


def test_count_counts_from_dtstart_wherever_one_looks_from():
    """cadence.md, rrule."""
    assert instants("FREQ=DAILY;COUNT=3", after=datetime(2026, 5, 2, tzinfo=UTC)) == [
        "2026-05-02T05:30Z",
        "2026-05-03T05:30Z",
    ]


def test_count_with_several_times_a_day_ends_within_a_day():
    assert instants("FREQ=DAILY;BYHOUR=7,9;COUNT=3") == ["2026-05-01T05:30Z", "2026-05-01T07:30Z", "2026-05-02T05:30Z"]


def test_count_does_not_count_what_lies_before_dtstart():
    assert instants("FREQ=WEEKLY;BYDAY=MO,FR;COUNT=2") == ["2026-05-01T05:30Z", "2026-05-04T05:30Z"]


@pytest.mark.parametrize(
    "until", ["20260503T053000Z", "20260503T073000", "20260503", "20260503T150000", "20260504T052959Z"]
)
def test_until_is_inclusive_in_utc_and_local_and_as_a_whole_day(until):
    """cadence.md: `UNTIL` may be UTC or local; dateutil raises for `...Z` beside a local dtstart."""
    assert instants(f"FREQ=DAILY;UNTIL={until}")[-1] == "2026-05-03T05:30Z"


def test_until_one_second_early_leaves_the_occurrence_out():
    assert instants("FREQ=DAILY;UNTIL=20260503T052959Z")[-1] == "2026-05-02T05:30Z"


def test_weeks_begin_on_monday_unless_wkst_says_otherwise():
    """RFC 5545, 3.8.5.3: the example in which WKST matters."""
    rule = "FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU"
    sunday_dates = {"": ["05", "10", "19", "24"], ";WKST=SU": ["05", "17", "19", "31"]}
    for week_start, days in sunday_dates.items():
        given_ = {"dtstart": datetime(1997, 8, 5, 9), "zone": "UTC", "after": datetime(1997, 8, 1, tzinfo=UTC)}
        assert [text[8:10] for text in instants(rule + week_start, **given_)] == days


@pytest.mark.parametrize("day", range(1, 32))
@pytest.mark.parametrize("week_start", ["MO", "SU", "WE"])
def test_a_fortnight_is_the_same_wherever_one_looks_from(week_start, day):
    """C5: dtstart is a Sunday, the last or the first day of its week."""
    text, dtstart = f"FREQ=WEEKLY;INTERVAL=2;BYDAY=SU,TU,SA;WKST={week_start}", datetime(2026, 3, 1, 9)
    every = instants(text, dtstart=dtstart, zone="UTC", after=datetime(2026, 2, 1, tzinfo=UTC), limit=30)
    later = datetime(2026, 3, day, 12, tzinfo=UTC)
    assert (
        instants(text, dtstart=dtstart, zone="UTC", after=later, limit=3)
        == [one for one in every if one > later.strftime("%Y-%m-%dT%H:%MZ")][:3]
    )


def test_a_week_number_without_a_weekday_takes_the_weekday_of_dtstart():
    """RFC 5545, 3.3.10: what the rule lacks comes from DTSTART (1 May 2026 is a Friday)."""
    assert instants("FREQ=YEARLY;BYWEEKNO=20", limit=2) == ["2026-05-15T05:30Z", "2027-05-21T05:30Z"]


@pytest.mark.parametrize("number", [1, 2, 27, 51, 52, 53, -1, -2, -52, -53])
def test_week_numbers_are_those_of_iso_8601(number):
    """RFC 5545, 3.3.10: also of the days that belong to a week of the year before or after."""
    rule = parse_rule(f"FREQ=YEARLY;BYWEEKNO={number};BYDAY=MO,TU,WE,TH,FR,SA,SU", datetime(2000, 1, 1))
    days = [datetime(2000, 1, 1) + timedelta(days=day) for day in range(366 * 30)]
    begin, stop = days[0] - timedelta(seconds=1), days[-1]
    assert list(within(engine.rule_nominals(rule, begin, stop), stop)) == [day for day in days if in_week(day, number)]


def in_week(day, number):
    year, week, _ = day.isocalendar()
    last = datetime(year, 12, 28).isocalendar().week
    return week == (number if number > 0 else last + 1 + number)


def test_plain_and_numbered_weekdays_in_one_rule_are_joined():
    """RFC 5545, 3.3.10: the values of one part are alternatives (dateutil reads them as two conditions)."""
    may = instants("FREQ=MONTHLY;BYDAY=FR,1TU", limit=6)
    assert [text[8:10] for text in may] == ["01", "05", "08", "15", "22", "29"]


def test_wall_clock_rules_keep_c2_c3_and_c4():
    """C2, C3, C4 for rules: lost times are merged at the change, repeated ones run once."""
    spring = found(
        "FREQ=DAILY;BYHOUR=2;BYMINUTE=0,30",
        datetime(2026, 3, 1, 2),
        after=datetime(2026, 3, 28, 12, tzinfo=UTC),
        limit=3,
    )
    assert [(o.at.hour, o.at.minute, o.shifted) for o in spring] == [(1, 0, True), (0, 0, False), (0, 30, False)]
    autumn = instants("FREQ=DAILY", dtstart=datetime(2026, 10, 1, 2, 30), after=datetime(2026, 10, 24, 12, tzinfo=UTC))
    assert autumn[:2] == ["2026-10-25T00:30Z", "2026-10-26T01:30Z"]


def test_hourly_and_minutely_are_grids_in_real_time():
    """cadence.md: a grid in real time, as `interval`: six hours stay six hours over a clock change."""
    given_ = {"dtstart": datetime(2026, 3, 28, 22), "after": datetime(2026, 3, 28, 20, tzinfo=UTC), "limit": 3}
    assert instants("FREQ=HOURLY;INTERVAL=6", **given_) == [
        "2026-03-28T21:00Z",
        "2026-03-29T03:00Z",
        "2026-03-29T09:00Z",
    ]
    assert instants("FREQ=MINUTELY;INTERVAL=90;COUNT=2", **given_) == ["2026-03-28T21:00Z", "2026-03-28T22:30Z"]
    assert instants("FREQ=HOURLY;INTERVAL=6;UNTIL=20260329T050000", **given_) == [
        "2026-03-28T21:00Z",
        "2026-03-29T03:00Z",
    ]


EVERY_MINUTE = f"BYHOUR={','.join(map(str, range(24)))};BYMINUTE={','.join(map(str, range(60)))}"
PATHOLOGICAL = [
    ("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", datetime(2026, 1, 1, 9), 0),
    ("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;UNTIL=20991231", datetime(1990, 1, 1, 9), 0),
    ("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=5", datetime(1990, 1, 1, 9), 0),
    ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30;BYHOUR=0,1,2,3;BYMINUTE=0,1,2,3", datetime(1970, 1, 1, 9), 0),
    ("FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO;BYMONTH=6", datetime(2016, 1, 1, 9), 0),
    ("FREQ=YEARLY;BYYEARDAY=366;BYDAY=MO;BYMONTH=6", datetime(2016, 1, 1, 9), 0),
    ("FREQ=MONTHLY;BYMONTHDAY=31;BYMONTH=2,4,6,9,11", datetime(2016, 1, 1, 9), 0),
    ("FREQ=WEEKLY;BYMONTH=2;BYDAY=MO;BYSETPOS=7", datetime(2016, 1, 1, 9), 0),
    ("FREQ=MINUTELY", datetime(2016, 1, 1, 9), 3),
    ("FREQ=MINUTELY;INTERVAL=7;COUNT=100000000", datetime(1970, 1, 1, 9), 3),
    ("FREQ=DAILY;COUNT=999999999", datetime(1976, 7, 1, 9), 3),
    ("FREQ=DAILY;BYMONTH=1;COUNT=999999", datetime(1976, 7, 1, 9), 3),
    ("FREQ=YEARLY;BYDAY=MO,TU,WE;BYHOUR=0,6,12,18;BYSETPOS=-1,100,200", datetime(1996, 7, 1, 9), 3),
    (f"FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;{EVERY_MINUTE};COUNT=90000000", datetime(1976, 7, 1, 9), 3),
    (f"FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;{EVERY_MINUTE};BYSETPOS=-1,366", datetime(1976, 7, 1, 9), 3),
    (f"FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;{EVERY_MINUTE}", datetime(1976, 7, 1, 9), 0),
]


@pytest.mark.parametrize(("text", "dtstart", "number"), PATHOLOGICAL)
@pytest.mark.parametrize("after", [datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 12, 30, 23, tzinfo=UTC)])
def test_pathological_rules_are_answered_in_bounded_steps(text, dtstart, number, after, monkeypatch):
    """cadence.md: no answer looks at more periods than the days of eight years; COUNT is followed 50 years, once."""
    steps = []
    plain = engine.period_days
    monkeypatch.setattr(engine, "period_days", lambda *args: steps.append(1) or plain(*args))
    engine.count_end.cache_clear()
    begin = time.process_time()
    given_ = {"dtstart": dtstart, "after": after, "limit": 3}
    assert len(found(text, **given_)) == number
    taken = time.process_time() - begin
    counted = engine.COUNTED_YEARS * 366 if "COUNT" in text else 0
    assert len(steps) <= HORIZON.days + 3 + counted
    assert taken < 0.25, "fifty milliseconds are promised; five times that is allowed to a slow machine"


def test_nothing_is_looked_for_beyond_eight_years():
    assert found("FREQ=DAILY", dtstart=datetime(2035, 1, 1, 9)) == []
    assert found("FREQ=YEARLY;INTERVAL=8", dtstart=datetime(2034, 6, 1, 9)) == []


def test_what_is_due_every_eight_years_is_seen_from_one_to_the_next():
    """26 March is summer time in 2018 and not yet in 2026: eight years and an hour."""
    every = {"text": "FREQ=YEARLY;INTERVAL=8", "dtstart": datetime(2018, 3, 26, 9), "limit": 1}
    (first,) = found(**every, after=datetime(2018, 1, 1, tzinfo=UTC))
    assert [o.at.year for o in (first, *found(**every, after=first.at))] == [2018, 2026]


def numbers(least, most, signed=False, most_of_them=3):
    one = st.integers(least, most)
    if signed:
        one = st.builds(lambda n, sign: n * sign, one, st.sampled_from([1, -1]))
    return st.lists(one, min_size=1, max_size=most_of_them, unique=True).map(lambda some: ",".join(map(str, some)))


WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
PLAIN_DAYS = st.lists(st.sampled_from(WEEKDAYS), min_size=1, max_size=4, unique=True).map(",".join)
NUMBERED_DAYS = st.lists(
    st.builds("{}{}".format, st.sampled_from([1, 2, -1, -2, 5]), st.sampled_from(WEEKDAYS)),
    min_size=1, max_size=3, unique=True,
).map(",".join)  # fmt: skip


@st.composite
def rule_texts(draw):
    """Rules that both engines read alike.

    No week number without a weekday, no mixed BYDAY, no first week cut short, no last week of a year (dateutil
    miscounts it: 1 January 2022 lies in week 52 of 2021, not in 53).
    """
    freq = draw(st.sampled_from(["YEARLY", "MONTHLY", "WEEKLY", "DAILY"]))
    parts = {"FREQ": freq, "INTERVAL": str(draw(st.integers(1, 4)))}
    options = {"BYMONTH": numbers(1, 12), "BYHOUR": numbers(0, 23), "BYMINUTE": numbers(0, 59)}
    if freq != "WEEKLY":
        options["BYMONTHDAY"] = numbers(1, 31, True)
    if freq in ("YEARLY", "MONTHLY"):
        options["BYDAY"] = PLAIN_DAYS | NUMBERED_DAYS
    else:
        options["BYDAY"] = PLAIN_DAYS
    if freq == "YEARLY":
        options["BYYEARDAY"] = numbers(1, 366, True)
    for name in draw(st.lists(st.sampled_from(sorted(options)), max_size=3, unique=True)):
        parts[name] = draw(options[name])
    if freq == "YEARLY" and draw(st.booleans()) and not {"BYMONTHDAY", "BYYEARDAY"} & parts.keys():
        parts |= {"BYWEEKNO": draw(numbers(1, 51)), "BYDAY": draw(PLAIN_DAYS)}
    if draw(st.booleans()):
        parts["WKST"] = draw(st.sampled_from(WEEKDAYS))
    if freq != "WEEKLY" and any(name.startswith("BY") for name in parts) and draw(st.booleans()):
        parts["BYSETPOS"] = draw(numbers(1, 6, True, 2))
    if draw(st.booleans()):
        parts["COUNT"] = str(draw(st.integers(1, 40)))
    return ";".join(f"{name}={value}" for name, value in parts.items())


@pytest.fixture(scope="module")
def bounded_reference():
    """Return dateutil's rrulestr, which by itself would look for an empty rule's next time until the year 9999."""
    names = {name: getattr(plain_datetime, name) for name in ("datetime", "date", "time", "timedelta")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reference, "datetime", SimpleNamespace(**names, MAXYEAR=2029))
        yield reference.rrulestr


@settings(max_examples=200, deadline=None)
@given(
    text=rule_texts(),
    dtstart=st.datetimes(datetime(2020, 1, 1), datetime(2024, 12, 31)).map(
        lambda at: at.replace(second=0, microsecond=0)
    ),
    days=st.integers(0, 900),
)
def test_rules_agree_with_dateutil(bounded_reference, text, dtstart, days):
    """RFC 5545: a second implementation names the same wall-clock times, wherever one looks from."""
    start = dtstart + timedelta(days=days)
    stop = start + timedelta(days=500)
    mine = engine.rule_nominals(parse_rule(text, dtstart), start, stop)
    theirs = (at for at in bounded_reference(text, dtstart=dtstart) if at > start)
    assert list(islice(within(mine, stop), 500)) == list(islice(within(theirs, stop), 500))


def within(times, stop):
    return takewhile(lambda at: at <= stop, times)
