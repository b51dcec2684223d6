"""What the cadence tests share: short forms, odd zones, random cadences, and a reckoning minute by minute."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from schedules.domain.cadence import Cadence, parse_cadence, stored_cadence
from schedules.domain.occurrences import occurrences

NOW = datetime(2026, 6, 5, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

# Each with a date near which its clock changes in an odd way.
CHANGES = [
    ("Europe/London", "2026-03-29"),
    ("Europe/London", "2026-10-25"),
    ("America/St_Johns", "2026-11-01"),
    ("Australia/Lord_Howe", "2026-04-05"),
    ("Australia/Lord_Howe", "2026-10-04"),
    ("Asia/Kathmandu", "1986-01-01"),
    ("Pacific/Chatham", "2026-04-05"),
    ("Pacific/Chatham", "2026-09-27"),
    ("America/Sao_Paulo", "2018-11-04"),
    ("America/Sao_Paulo", "2018-02-18"),
    ("Asia/Beirut", "2026-03-29"),
    ("Asia/Beirut", "2026-10-25"),
    ("Africa/Cairo", "2026-04-24"),
    ("Africa/Cairo", "2026-10-29"),
    ("Asia/Gaza", "2023-04-29"),
    ("America/Havana", "2026-03-08"),
    ("America/Havana", "2026-11-01"),
    ("Pacific/Apia", "2011-12-30"),
    ("Antarctica/Troll", "2026-03-29"),
    ("Antarctica/Troll", "2026-10-25"),
    ("Africa/Casablanca", "2026-02-15"),
    ("Africa/Casablanca", "2026-03-22"),
]
ZONES = sorted({zone for zone, _ in CHANGES} | {"UTC", "Asia/Singapore", "America/New_York"})


def at(text: str) -> datetime:
    """Return the instant written as on the wire."""
    return datetime.fromisoformat(text)


def read(cadence: dict, zone: str = "UTC", now: datetime = NOW, previous: Cadence | None = None) -> Cadence:
    """Return the cadence as a person's input is read."""
    return parse_cadence(cadence, zone=zone, now=now, previous=previous)


def cron(expression: str) -> Cadence:
    """Return a cron cadence, expanded."""
    return stored_cadence({"kind": "cron", "expression": expression})


def upcoming(cadence: dict | Cadence, zone: str, after: str, number: int = 3) -> list[str]:
    """Return the next instants after `after` as they stand on the wire."""
    if isinstance(cadence, dict):
        cadence = read(cadence, zone, at(after))
    return [wire(found.at) for found in occurrences(cadence, zone, at(after), limit=number)]


def wire(instant: datetime) -> str:
    """Return an instant as it stands on the wire."""
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")


def minutes_of(zone: str, begin: datetime, days: int) -> list[tuple[datetime, datetime]]:
    """Return (instant, what the clock shows) for every minute of some days."""
    tz = ZoneInfo(zone)
    instants = (begin + number * MINUTE for number in range(days * 1440))
    return [(instant, instant.astimezone(tz).replace(tzinfo=None)) for instant in instants]


def placings(minutes: list[tuple[datetime, datetime]]) -> list[tuple[datetime, datetime]]:
    """Reckon C2 and C3 minute by minute: (time on the wall, its instant) for every minute, lost and repeated ones too.

    The instant is the first that shows the time, or the first that shows a later one.
    """
    showing: dict[datetime, datetime] = {}
    for instant, shown in minutes:
        showing.setdefault(shown, instant)
    nominal, later, place, found = minutes[0][1], sorted(showing), 0, []
    while nominal <= later[-1]:
        while later[place] < nominal:
            place += 1
        found.append((nominal, showing[later[place]]))
        nominal += MINUTE
    return found


def by_the_clock(placed: list[tuple[datetime, datetime]], names: Callable[[datetime], bool]) -> list[datetime]:
    """Return the instants of the named times, several on one instant once (C4)."""
    return sorted({instant for nominal, instant in placed if names(nominal)})


def in_real_time(minutes: list[tuple[datetime, datetime]], names: Callable[[datetime], bool]) -> list[datetime]:
    """Reckon the second sentence of C3: every minute whose showing is named."""
    return [instant for instant, shown in minutes if names(shown)]


CLOCKS = st.builds("{:02}:{:02}".format, st.integers(0, 23), st.integers(0, 59))
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DATES = st.dates(datetime(2024, 1, 1).date(), datetime(2027, 12, 31).date()).map(str)


def _field(least: int, most: int) -> st.SearchStrategy[str]:
    number = st.integers(least, most)
    ranges = st.tuples(number, number).map(lambda ends: f"{min(ends)}-{max(ends)}")
    lists = st.lists(number, min_size=1, max_size=3, unique=True).map(lambda some: ",".join(map(str, some)))
    steps = st.builds("{}/{}".format, st.just("*") | ranges, st.integers(1, 20))
    return st.one_of(st.just("*"), number.map(str), ranges, lists, steps)


CRON_TEXTS = st.builds(
    "{} {} {} {} {}".format,
    _field(0, 59),
    _field(0, 23),
    st.just("*") | _field(1, 28) | st.just("L"),
    st.just("*") | _field(1, 12),
    st.just("*") | _field(0, 7) | st.sampled_from(["MON", "5L", "2#2", "1-5", "sun"]),
)
CADENCES: st.SearchStrategy[dict] = st.one_of(
    st.builds(lambda minute: {"kind": "hourly", "minute": minute}, st.integers(0, 59)),
    st.builds(
        lambda time, every, anchor: {"kind": "daily", "time": time, "every": every, "anchor": anchor},
        CLOCKS, st.integers(1, 40), _DATES,
    ),
    st.builds(lambda time: {"kind": "weekdays", "time": time}, CLOCKS),
    st.builds(
        lambda days, time, every, anchor: {
            "kind": "weekly", "days": sorted(days), "time": time, "every": every, "anchor": anchor,
        },
        st.sets(st.sampled_from(_DAYS), min_size=1), CLOCKS, st.integers(1, 6), _DATES,
    ),
    st.builds(
        lambda day, time: {"kind": "monthly", "day": day, "time": time}, st.integers(1, 31) | st.just("last"), CLOCKS
    ),
    st.builds(
        lambda nth, day, time: {"kind": "monthly", "nth": nth, "weekday": day, "time": time},
        st.integers(1, 4) | st.just("last"), st.sampled_from(_DAYS), CLOCKS,
    ),
    st.builds(
        lambda month, day, time: {"kind": "yearly", "month": month, "day": day, "time": time},
        st.integers(1, 12), st.integers(1, 29), CLOCKS,
    ),
    st.builds(
        lambda every, unit, anchor: {"kind": "interval", "every": every, "unit": unit, "anchor": f"{anchor}T10:40:00Z"},
        st.integers(1, 500), st.sampled_from(["minutes", "hours"]), _DATES,
    ),
    st.builds(lambda text: {"kind": "cron", "expression": text}, CRON_TEXTS),
    st.builds(
        lambda date, time, rule: {"kind": "rrule", "dtstart": f"{date}T{time}", "rule": rule},
        _DATES, CLOCKS,
        st.sampled_from([
            "FREQ=DAILY", "FREQ=DAILY;COUNT=30", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH", "FREQ=MONTHLY;BYDAY=-1FR",
            "FREQ=MONTHLY;BYMONTHDAY=-2,15", "FREQ=YEARLY;BYMONTH=3;BYDAY=2SU;BYHOUR=2;BYMINUTE=0,30",
            "FREQ=HOURLY;INTERVAL=5", "FREQ=MINUTELY;INTERVAL=45;UNTIL=20271231T000000Z",
            "FREQ=DAILY;BYHOUR=1,2;BYMINUTE=0,30;BYSETPOS=1,-1",
        ]),
    ),
)  # fmt: skip
