"""Grants and the ledgers: added once, never changed, gone with the person (A6)."""

from datetime import date
from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction

from accounts.models import AuditEntry, CreditEntry, UsageEntry
from accounts.models.audit import AppendOnly
from accounts.selectors.spend import balance_of, usage_by, usage_of, usage_total
from accounts.services.forgetting import usage_erase
from accounts.services.spend import Billed, credit_grant, credit_start, usage_add
from core.errors import Refusal
from core.registry import Leaving
from tests.factories import NOW

pytestmark = pytest.mark.django_db


def billed(owner, key="trn_a:1", **fields):
    usual = {
        "owner": owner, "key": key, "turn": key.split(":")[0], "schedule": "sch_a", "agent": "agt_a", "model": "mdl_a",
        "kind": "schedule", "input_tokens": 10, "cached_tokens": 0, "output_tokens": 5, "cost": Decimal("0.30"),
        "estimated": False,
    }  # fmt: skip
    return Billed(**usual | fields)


def test_a_grant_binds_from_then_on_and_the_balance_is_the_sum(alice):
    assert balance_of(alice) is None
    credit_grant(user=alice, amount=Decimal("5.00"), reason=" A start ", now=NOW)
    credit_grant(user=alice, amount=Decimal("-1.50"), reason="Taken back", now=NOW)
    alice.refresh_from_db()
    assert (alice.on_credit, balance_of(alice)) == (True, Decimal("3.50"))
    assert CreditEntry.objects.first().reason == "A start"


def test_a_grant_with_a_key_is_given_once(alice):
    made = [credit_grant(user=alice, amount=Decimal(5), reason="Start", key="start", now=NOW).pk for _ in range(2)]
    assert len(set(made)) == CreditEntry.objects.count() == 1


def test_a_new_account_has_the_starting_credit_once(make_user, settings):
    """details.md: one grant with a unique key per user."""
    settings.STARTING_CREDIT = Decimal("2.50")
    carol = make_user("carol@example.com")
    credit_start(user=carol, amount=Decimal("2.50"), now=NOW)
    carol.refresh_from_db()
    assert (carol.on_credit, balance_of(carol)) == (True, Decimal("2.50"))


def test_a_grant_is_in_the_audit_log_without_its_words(alice, bob):
    credit_grant(user=alice, amount=Decimal(5), reason="For Alice", actor=bob, now=NOW)
    entry = AuditEntry.objects.get(act="credit.granted")
    assert entry.after == {"amount": "5"}
    assert "Alice" not in str(entry.__dict__)


@pytest.mark.parametrize(
    ("amount", "reason", "code"),
    [
        ("0", "x", "out_of_range"), ("NaN", "x", "out_of_range"), ("Infinity", "x", "out_of_range"),
        ("1e9", "x", "out_of_range"), ("0.001", "x", "wrong_type"), ("1", "  ", "required"), ("1", "x" * 201, "too_long"),
    ],
)  # fmt: skip
def test_what_is_no_grant_is_refused(alice, amount, reason, code):
    with pytest.raises(Refusal) as refused:
        credit_grant(user=alice, amount=Decimal(amount), reason=reason, now=NOW)
    assert refused.value.code == code
    assert not CreditEntry.objects.exists()


def test_what_was_billed_is_never_billed_again(alice):
    credit_grant(user=alice, amount=Decimal(5), reason="Start", now=NOW)
    usage_add(billed=[billed(alice)], now=NOW)
    with pytest.raises(IntegrityError), transaction.atomic():
        usage_add(billed=[billed(alice)], now=NOW)
    assert (UsageEntry.objects.count(), balance_of(alice)) == (1, Decimal("4.70"))


def test_what_cost_nothing_is_no_charge(alice):
    credit_grant(user=alice, amount=Decimal(5), reason="Start", now=NOW)
    usage_add(billed=[billed(alice, cost=None), billed(alice, "trn_b:1", cost=Decimal(0))], now=NOW)
    assert CreditEntry.objects.filter(kind="charge").count() == 0


@pytest.mark.parametrize("model", [UsageEntry, CreditEntry])
def test_a_row_is_never_saved_twice(alice, model):
    credit_grant(user=alice, amount=Decimal(5), reason="Start", now=NOW)
    usage_add(billed=[billed(alice)], now=NOW)
    row = model.objects.first()
    with pytest.raises(AppendOnly):
        row.save()


def test_the_day_is_that_of_the_owners_zone(make_user):
    far = make_user("carol@example.com", zone="Pacific/Kiritimati")
    usage_add(billed=[billed(far)], now=NOW.replace(hour=20))
    assert UsageEntry.objects.get().day == date(2026, 6, 2)


def test_usage_is_added_up_by_every_name_and_never_another_persons(alice, bob):
    rows = [billed(alice, f"trn_{n}:1", schedule=f"sch_{n % 2}", cost=Decimal("0.1") * (n + 1)) for n in range(4)]
    usage_add(billed=[*rows, billed(bob, "trn_bob:1"), billed(alice, "trn_0:2", estimated=True)], now=NOW)
    mine = usage_of(alice, since=NOW.date(), until=NOW.date())
    assert [(row.key, row.turns, row.cost) for row in usage_by(mine, "schedule")] == [
        ("sch_1", 2, Decimal("0.6")), ("sch_0", 2, Decimal("0.4")), ("sch_a", 1, Decimal("0.3")),
    ]  # fmt: skip
    total = usage_total(mine)
    assert (total.turns, total.input_tokens, total.cost, total.estimated) == (4, 50, Decimal("1.3"), True)


def test_a_million_small_sums_stay_exact(alice):
    """SQLite adds up in binary; what is read is the amount to the last step."""
    usage_add(billed=[billed(alice, f"trn_{n}:1", cost=Decimal("0.100001")) for n in range(999)], now=NOW)
    assert usage_total(usage_of(alice, since=NOW.date(), until=NOW.date())).cost == Decimal("99.900999")


@pytest.mark.parametrize("keep", [False, True])
def test_erasing_a_person_takes_their_usage_or_leaves_figures_that_name_nobody(alice, bob, keep):
    """A6"""
    usage_add(billed=[billed(alice), billed(bob, "trn_bob:1")], now=NOW)
    leaving = Leaving(alice.pk, keep_usage=keep)
    assert [usage_erase(leaving, most=10, now=NOW) for _ in range(2)] == [1, 0]
    assert UsageEntry.objects.filter(owner=bob).count() == 1
    left = UsageEntry.objects.filter(owner=None).values("key", "turn", "schedule", "agent", "model", "cost")
    kept = {"key": None, "turn": "", "schedule": "", "agent": "", "model": "mdl_a", "cost": Decimal("0.30")}
    assert list(left) == ([kept] if keep else [])
