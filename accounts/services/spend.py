"""Writes both ledgers: what an attempt used with the charge for it, and what operators grant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import transaction

from accounts.domain.spend import local_day
from accounts.models import CreditEntry, UsageEntry, User
from accounts.services.audit import audit
from core.db import locked
from core.errors import Refusal
from core.ids import new_id
from core.text import has_nul, tidy

MOST_GRANT = Decimal("9999999.99")
MOST_REASON = 200


@dataclass(frozen=True)
class Billed:
    """What one attempt used. `key` names turn and lease, so that it is billed once; `cost` None: no price is known."""

    owner: User
    key: str
    turn: str
    schedule: str
    agent: str
    model: str
    kind: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost: Decimal | None
    estimated: bool


STARTING = "Starting credit"


def usage_add(*, billed: Sequence[Billed], now: datetime) -> None:
    """Add what attempts used, on the day of their owners' zones, and charge those who have a credit.

    Runs in the caller's transaction. Raises IntegrityError for what was billed already: the caller's fence is lost.
    """
    UsageEntry.objects.bulk_create(
        [
            UsageEntry(
                owner=one.owner, day=local_day(now, one.owner.zone), key=one.key, turn=one.turn, schedule=one.schedule,
                agent=one.agent, model=one.model, kind=one.kind, input_tokens=one.input_tokens,
                cached_tokens=one.cached_tokens, output_tokens=one.output_tokens, cost=one.cost,
                estimated=one.estimated, created_at=now,
            )
            for one in billed
        ]
    )  # fmt: skip
    charges = [
        CreditEntry(owner=one.owner, key=one.key, kind=CreditEntry.CHARGE, amount=-one.cost, created_at=now)
        for one in billed
        if one.cost and one.owner.on_credit
    ]
    if charges:
        CreditEntry.objects.bulk_create(charges)


def credit_grant(
    *, user: User, amount: Decimal, reason: str, actor: User | None = None, key: str | None = None, now: datetime
) -> CreditEntry:
    """Add `amount` to the credit of `user` (below zero takes it back); from the first grant on the balance binds.

    The same `key` again returns the earlier grant. Raises Refusal for an amount of nothing, or beyond `MOST_GRANT`,
    and for a missing reason.
    """
    reason = tidy(reason)
    _refuse_grant(amount, reason)
    with transaction.atomic():
        held = locked(User.objects.filter(pk=user.pk)).get()  # a start that counts the balance is before or after it
        named = f"grant:{key or new_id('grt')}"
        earlier = CreditEntry.objects.filter(key=named).first()
        if earlier is not None:
            return earlier
        entry = CreditEntry.objects.create(
            owner=held, key=named, kind=CreditEntry.GRANT, amount=amount, reason=reason, created_at=now
        )
        User.objects.filter(pk=held.pk, on_credit=False).update(on_credit=True)
        user.on_credit = True
        audit(act="credit.granted", actor=actor, subject=entry, after={"amount": amount}, now=now)
    return entry


def credit_start(*, user: User, amount: Decimal, now: datetime) -> CreditEntry:
    """Give a new account its starting credit, once (details.md: one grant with a unique key per user)."""
    return credit_grant(user=user, amount=amount, reason=STARTING, key=f"start:{user.public_id}", now=now)


def _refuse_grant(amount: Decimal, reason: str) -> None:
    if not amount.is_finite() or abs(amount) > MOST_GRANT or amount == 0:
        raise Refusal.at("amount", "out_of_range", least=str(-MOST_GRANT), most=str(MOST_GRANT))
    if amount.quantize(Decimal("0.01")) != amount:
        raise Refusal.at("amount", "wrong_type", expected="an amount with two decimals at most")
    if not reason:
        raise Refusal.at("reason", "required")
    if has_nul(reason) or len(reason) > MOST_REASON:
        raise Refusal.at("reason", "too_long", actual=len(reason), most=MOST_REASON)
