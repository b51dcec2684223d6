"""What states, outcomes and choices are called on pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from agents.models import ProviderKind

STATES = {
    "armed": gettext_lazy("On"),
    "failed": gettext_lazy("On, last run failed"),
    "running": gettext_lazy("Running"),
    "queued": gettext_lazy("Queued"),
    "needs_approval": gettext_lazy("Needs approval"),
    "blocked": gettext_lazy("Blocked"),
    "paused": gettext_lazy("Paused"),
    "completed": gettext_lazy("Completed"),
    "deleting": gettext_lazy("Being deleted"),
}

OUTCOMES = {
    "queued": gettext_lazy("Queued"),
    "running": gettext_lazy("Running"),
    "needs_approval": gettext_lazy("Needs approval"),
    "succeeded": gettext_lazy("Succeeded"),
    "empty": gettext_lazy("Empty answer"),
    "failed": gettext_lazy("Failed"),
    "timed_out": gettext_lazy("Timed out"),
    "interrupted": gettext_lazy("Interrupted"),
    "stopped": gettext_lazy("Stopped"),
    "expired": gettext_lazy("Expired"),
    "skipped": gettext_lazy("Skipped"),
    "refused": gettext_lazy("Refused"),
    "missed": gettext_lazy("Missed"),
    "cancelled": gettext_lazy("Cancelled"),
}

FAILURES = ("failed", "timed_out", "interrupted")

OVERLAPS = [
    ("skip", gettext_lazy("Skip this time")),
    ("queue_one", gettext_lazy("Let one wait")),
    ("replace", gettext_lazy("Stop it and start")),
    ("allow", gettext_lazy("Run both")),
]
MISFIRES = [
    ("miss", gettext_lazy("Skip, and say so")),
    ("run_once", gettext_lazy("Run the latest once")),
    ("run_all", gettext_lazy("Run all, at most 10")),
]
NOTIFIES = [
    ("failures", gettext_lazy("When it fails")),
    ("always", gettext_lazy("Always")),
    ("changed", gettext_lazy("When the answer differs")),
    ("never", gettext_lazy("Never")),
]


def outcome_word(status: str) -> str:
    """Return what a run's status is called."""
    return str(OUTCOMES.get(status, status))


def upper_first(text: str) -> str:
    """Return `text` as a sentence begins."""
    return text[:1].upper() + text[1:]


def model_label(provider_kind: str) -> str:
    """Return the label of answers that do not come from a provider somebody added; empty for those that do."""
    if provider_kind == ProviderKind.DEMO:
        return _("demo")
    return _("small local model") if provider_kind == ProviderKind.LOCAL else ""


def counted(statuses: Iterable[str]) -> str:
    """Return outcomes as counts in words: "8 succeeded, 1 failed"."""
    counts = Counter(statuses)
    return ", ".join(f"{counts[status]} {str(word).lower()}" for status, word in OUTCOMES.items() if counts[status])


def strip_words(statuses: list[str]) -> str:
    """Return what a strip of outcomes shows, for ears."""
    if not statuses:
        return ""
    last = ngettext("Last run", "Last %(n)s runs, oldest first", len(statuses)) % {"n": len(statuses)}
    return f"{last}: {counted(statuses)}"
