"""Wall clocks: zones from the bundled data, clock changes, RFC 5545 rules. Shared by cadences and timers; pure."""

from core.walltime.occurrences import Occurrence, clamped, grid_occurrences, shown_occurrences, wall_occurrences
from core.walltime.rules import Rule, RuleError, parse_rule
from core.walltime.rules_occurrences import rule_occurrences
from core.walltime.zones import (
    HORIZON,
    Change,
    UnknownZone,
    changes_between,
    place,
    show,
    zone,
    zone_data_version,
    zone_names,
)

__all__ = [
    "HORIZON",
    "Change",
    "Occurrence",
    "Rule",
    "RuleError",
    "UnknownZone",
    "changes_between",
    "clamped",
    "grid_occurrences",
    "parse_rule",
    "place",
    "rule_occurrences",
    "show",
    "shown_occurrences",
    "wall_occurrences",
    "zone",
    "zone_data_version",
    "zone_names",
]
