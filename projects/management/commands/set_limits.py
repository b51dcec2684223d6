"""`manage.py set_limits [--group NAME | --user EMAIL] KEY=VALUE ...`: limits, requirement and pin in one line."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from accounts.domain.limits import NAMES as LIMITS
from accounts.selectors.users import group_named, user_named
from accounts.services.limits import limit_parse, limits_set, switch_parse
from core.clock import now
from core.commands import ProductCommand
from core.errors import FieldError, Refusal
from projects.services.policies import NAMES as POLICIES
from projects.services.policies import policy_set


class Command(ProductCommand):
    help = "Set limits, requirement and pin of the deployment, a group or a user, by the names of /api/v1/limits."

    def add_arguments(self, parser: CommandParser) -> None:
        names = ", ".join((*LIMITS, *POLICIES))
        scope = parser.add_mutually_exclusive_group()
        scope.add_argument("--group", help="The name of a group.")
        scope.add_argument("--user", help="The e-mail of an account.")
        parser.add_argument(
            "--create-missing", action="store_true", help="Make the pinned project for everybody who lacks it."
        )
        parser.add_argument("pairs", nargs="+", metavar="KEY=VALUE", help=f"{names}; the value inherit clears.")

    def act(self, **options: Any) -> str:
        limits, policy = _read(options["pairs"])
        where = _scope(options)
        at = now()
        with transaction.atomic():
            if limits:
                limits_set(**where, values=limits, now=at)
            if policy:
                policy_set(**where, values=policy, create_missing=options["create_missing"], now=at)
        return "\n".join(f"{name} = {_shown(value)}" for name, value in {**limits, **policy}.items())


def _scope(options: dict[str, Any]) -> dict[str, Any]:
    if options["user"]:
        return {"scope": "user", "user": user_named(options["user"])}
    if options["group"]:
        return {"scope": "group", "group": group_named(options["group"])}
    return {"scope": "deployment"}


def _read(pairs: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the pairs into limits and policy. Raises Refusal with everything that cannot be read."""
    limits: dict[str, Any] = {}
    policy: dict[str, Any] = {}
    errors: list[FieldError] = []
    for pair in pairs:
        name, equals, text = pair.partition("=")
        try:
            if not equals:
                raise Refusal.at(name, "wrong_type", expected="KEY=VALUE")
            if name in POLICIES:
                policy[name] = _policy_value(name, text)
            else:
                limits[name] = limit_parse(name, text)
        except Refusal as refusal:
            errors += refusal.fields
    if errors:
        raise Refusal.of(errors)
    return limits, policy


def _policy_value(name: str, text: str) -> Any:
    if text == "inherit":
        return None
    if name == "require_project":
        return switch_parse(name, text)
    return text


def _shown(value: Any) -> str:
    return "inherit" if value is None else str(value)
