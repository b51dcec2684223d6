"""How limits of deployment, groups and user combine into the ones that bind a person. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

Source = Literal["default", "deployment", "group", "user"]
Row = Mapping[str, Any]

NAMES = (
    "enabled",
    "max_schedules",
    "min_interval_seconds",
    "max_failures",
    "max_balance_skips",
    "max_concurrent",
    "max_concurrent_turns",
    "daily_runs",
    "monthly_spend",
)
DEPLOYMENT_ONLY = ("max_concurrent_turns",)
ONLY_NARROWED = ("max_concurrent", "monthly_spend")
HIGHER_IS_STRICTER = ("min_interval_seconds",)


@dataclass(frozen=True)
class Value:
    """One limit and the scope it comes from; None means unlimited."""

    value: Any
    source: Source


@dataclass(frozen=True)
class Limits:
    """Everything that binds one owner. `values` has every name with its source; the properties are the plain values."""

    values: Mapping[str, Value]

    def __getitem__(self, name: str) -> Value:
        return self.values[name]

    @property
    def enabled(self) -> bool:
        return bool(self.values["enabled"].value)

    @property
    def max_schedules(self) -> int:
        return int(self.values["max_schedules"].value)

    @property
    def min_interval_seconds(self) -> int:
        return int(self.values["min_interval_seconds"].value)

    @property
    def max_failures(self) -> int:
        return int(self.values["max_failures"].value)

    @property
    def max_balance_skips(self) -> int:
        return int(self.values["max_balance_skips"].value)

    @property
    def max_concurrent(self) -> int:
        return int(self.values["max_concurrent"].value)

    @property
    def max_concurrent_turns(self) -> int:
        return int(self.values["max_concurrent_turns"].value)

    @property
    def daily_runs(self) -> int | None:
        return self.values["daily_runs"].value  # type: ignore[no-any-return]

    @property
    def monthly_spend(self) -> Decimal | None:
        return self.values["monthly_spend"].value  # type: ignore[no-any-return]


def strictest(name: str, values: Iterable[Any]) -> Any:
    """Return the value of `name` that allows least: off before on, the longer interval, the smaller number."""
    given = list(values)
    if name == "enabled":
        return all(given)
    return max(given) if name in HIGHER_IS_STRICTER else min(given)


def _of_groups(name: str, groups: Iterable[Row]) -> Any:
    given = [row[name] for row in groups if row.get(name) is not None]
    return strictest(name, given) if given else None


def _combine(name: str, layers: list[tuple[Source, Any]]) -> Value:
    """Let the most specific layer win; what may only be narrowed never exceeds the layer before it."""
    found = Value(layers[0][1], layers[0][0])
    for source, value in layers[1:]:
        if value is None:
            continue
        narrows_only = name in ONLY_NARROWED and source in ("group", "user")
        if narrows_only and found.value is not None and strictest(name, [value, found.value]) != value:
            continue
        found = Value(value, source)
    return found


def resolve(defaults: Row, *, deployment: Row | None, groups: Iterable[Row], user: Row | None) -> Limits:
    """Combine the scopes into the limits of one person (accounts.md, Permissions and limits; R24).

    Null inherits, the most specific scope wins, of several groups the strictest value of each name; concurrency and
    spend are never widened past the deployment's. `max_concurrent_turns` is read from the deployment alone.
    """
    group_rows = list(groups)
    values: dict[str, Value] = {}
    for name in NAMES:
        layers: list[tuple[Source, Any]] = [
            ("default", defaults.get(name)),
            ("deployment", (deployment or {}).get(name)),
        ]
        if name not in DEPLOYMENT_ONLY:
            layers += [("group", _of_groups(name, group_rows)), ("user", (user or {}).get(name))]
        values[name] = _combine(name, layers)
    return Limits(values)
