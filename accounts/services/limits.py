"""Limits and switches as operators set them; admin, API and command use the same act."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from django.contrib.auth.models import Group
from django.db import transaction

from accounts.domain.limits import DEPLOYMENT_ONLY, NAMES
from accounts.models import LimitSet, User
from accounts.services.audit import audit, audit_changed
from core.errors import FieldError, Refusal

_MOST = 2_147_483_647
RANGES: dict[str, tuple[int, int]] = {
    "max_schedules": (0, _MOST),
    "min_interval_seconds": (0, _MOST),
    "max_failures": (1, _MOST),
    "max_balance_skips": (1, _MOST),
    "max_concurrent": (1, _MOST),
    "max_concurrent_turns": (1, _MOST),
    "daily_runs": (0, _MOST),
}
_MOST_SPEND = Decimal("9999999999.99")


def limits_set(
    *,
    scope: str,
    group: Group | None = None,
    user: User | None = None,
    values: Mapping[str, Any],
    actor: User | None = None,
    now: datetime,
) -> LimitSet:
    """Set the named limits of one scope (`deployment`, `group`, `user`); None inherits, other names stay as they are.

    A lowered cap stops nothing that exists. Raises Refusal with every name or value that cannot be used.
    """
    errors = [error for name, value in values.items() if (error := _refused(scope, name, value))]
    if errors:
        raise Refusal.of(errors)
    with transaction.atomic():
        row, made = LimitSet.objects.select_for_update().get_or_create(
            scope=scope, group=group, user=user, defaults={"updated_at": now}
        )
        before = {name: getattr(row, name) for name in values}
        for name, value in {**values, "updated_at": now}.items():
            setattr(row, name, value)
        row.save(update_fields=[*values, "updated_at"])
        if made:
            audit(act="limitset.added", actor=actor, subject=row, after=values, now=now)
        else:
            audit_changed(act="limitset.changed", actor=actor, subject=row, before=before, after=values, now=now)
    return row


def limit_parse(name: str, text: str) -> Any:
    """Read `text` as a value of limit `name`: plain numbers, on/off for switches, `inherit` for None.

    Raises Refusal `limit_unknown` for another name, `wrong_type` for another form.
    """
    text = text.strip()
    if name not in NAMES:
        raise Refusal.at(name, "limit_unknown", name=name)
    if text == "inherit":
        return None
    if name == "enabled":
        return switch_parse(name, text)
    if name == "monthly_spend":
        try:
            return Decimal(text)
        except InvalidOperation as error:
            raise Refusal.at(name, "wrong_type", expected="a decimal number") from error
    if not (text.isascii() and text.isdigit()) or len(text) > 12:
        raise Refusal.at(name, "wrong_type", expected="a whole number, or inherit")
    return int(text)


def switch_parse(name: str, text: str) -> bool:
    """Read a switch. Raises Refusal `wrong_type` for anything that is not plainly on or off."""
    words = {"on": True, "true": True, "yes": True, "1": True, "off": False, "false": False, "no": False, "0": False}
    if text.strip().lower() not in words:
        raise Refusal.at(name, "wrong_type", expected="on, off or inherit")
    return words[text.strip().lower()]


def _refused(scope: str, name: str, value: Any) -> FieldError | None:
    if name not in NAMES or (name in DEPLOYMENT_ONLY and scope != "deployment"):
        return FieldError(name, "limit_unknown", {"name": name})
    if value is None:
        return None
    if name == "enabled":
        return None if isinstance(value, bool) else FieldError(name, "wrong_type", {"expected": "true or false"})
    if name == "monthly_spend":
        return _refused_spend(value)
    least, most = RANGES[name]
    if isinstance(value, bool) or not isinstance(value, int):
        return FieldError(name, "wrong_type", {"expected": "a whole number"})
    return None if least <= value <= most else FieldError(name, "out_of_range", {"least": least, "most": most})


def _refused_spend(value: Any) -> FieldError | None:
    wrong = FieldError("monthly_spend", "wrong_type", {"expected": "an amount with two decimals at most"})
    if not isinstance(value, Decimal) or not value.is_finite():
        return wrong
    if not 0 <= value <= _MOST_SPEND:  # first: no amount beyond the precision of decimals can be quantized
        return FieldError("monthly_spend", "out_of_range", {"least": 0, "most": str(_MOST_SPEND)})
    return None if value.quantize(Decimal("0.01")) == value else wrong
