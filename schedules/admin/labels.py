"""What reasons are called where they are said of many schedules at once."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

REASONS = {
    "too_many_failures": _("Too many failures in a row."),
    "insufficient_balance": _("Too many runs in a row without credit."),
    "cadence_below_floor": _("They run more often than is allowed."),
    "cadence_invalid": _("Their rule yields no time."),
    "zone_unknown": _("Their time zone is not known here."),
    "agent_forbidden": _("Their owners may not use their agent."),
    "agent_disabled": _("Their agent is switched off."),
}
"""Reasons whose own sentence names one schedule's numbers."""
