"""What fits a budget and a credit (accounts.md, Spend)."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from accounts.domain.spend import Purse, local_day, month_after, month_of

D = Decimal
DAY = date(2026, 12, 5)


def purse(credit=None, **taken):
    return Purse(DAY, {name.replace("_", ""): D(amount) for name, amount in taken.items()}, credit=credit)


FITS = [
    # credit, spent by schedule, estimate, the schedule's budget, the owner's most -> reason, whose
    (None, {"s": "0.90"}, "0.10", "1.00", None, None),
    (None, {"s": "0.90"}, "0.100001", "1.00", None, ("budget", "schedule")),
    (None, {"s": "5"}, "0.10", None, None, None),
    (None, {"s": "0.2", "other": "0.5"}, "0.30", "1.00", "1.00", None),
    (None, {"s": "0.2", "other": "0.6"}, "0.30", "1.00", "1.00", ("budget", "owner")),
    (None, {"s": "1", "other": "9"}, "0.30", "1.00", "1.00", ("budget", "schedule")),
    (None, {}, "0", "0", "0", None),
    (None, {}, "0.000001", "0", None, ("budget", "schedule")),
    (D("0.30"), {}, "0.30", None, None, None),
    (D("0.29"), {}, "0.30", None, None, ("balance", None)),
    (D("-0.01"), {}, "0", None, None, ("balance", None)),
    (D("0"), {"s": "9"}, "0.30", "1.00", "1.00", ("balance", None)),
]


@pytest.mark.parametrize(("credit", "taken", "estimate", "budget", "most", "wanted"), FITS)
def test_what_is_spent_and_reserved_and_the_estimate_must_fit_everything_that_applies(
    credit, taken, estimate, budget, most, wanted
):
    over = purse(credit, **taken).over(D(estimate), schedule="s", budget=budget and D(budget), most=most and D(most))
    assert (over and (over.reason, over.params.get("of"))) == wanted


def test_what_fits_is_taken_so_that_the_next_one_is_asked_with_it():
    held = purse(D("0.70"))
    taken = [held.take(D("0.30"), schedule="s", budget=D(5)) for _ in range(3)]
    assert [over and over.reason for over in taken] == [None, None, "balance"]
    assert (held.taken, held.credit) == ({"s": D("0.60")}, D("0.10"))


def test_the_reason_says_how_much_whose_and_when_it_goes_on():
    over = purse(s="1").over(D(1), schedule="s", budget=D(1))
    assert over is not None
    assert over.params == {"most": "1.00", "of": "schedule", "month": "2026-12", "resumes": "2027-01-01"}


@pytest.mark.parametrize(
    ("zone", "day"),
    [("UTC", date(2026, 6, 30)), ("Asia/Tokyo", date(2026, 7, 1)), ("Mars/Base", date(2026, 6, 30))],
)
def test_days_are_those_of_the_owners_zone(zone, day):
    assert local_day(datetime(2026, 6, 30, 20, tzinfo=UTC), zone) == day


def test_months_begin_on_their_first_day():
    assert (month_of(DAY), month_after(DAY)) == (date(2026, 12, 1), date(2027, 1, 1))
    assert month_after(date(2028, 1, 31)) == date(2028, 2, 1)
