"""Where a schedule files its conversations: one resolver for form, API, fire, start, resume and display. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal

Source = Literal["pin", "stored", "none"]


class Unsent(Enum):
    UNSENT = "unsent"


UNSENT: Final = Unsent.UNSENT


@dataclass(frozen=True)
class Policy:
    """Requirement and pin as they bind one owner.

    `pin_id` is the pinned project among the owner's own; None while `pinned` means that the owner does not have it
    (deleted, never made, or somebody else's). `pin_name` is what the operator called it. `*_source` is the scope that
    decided: `default`, `deployment`, `group` or `user`.
    """

    require_project: bool = False
    pinned: bool = False
    pin_id: int | None = None
    pin_name: str = ""
    require_source: str = "default"
    pin_source: str = "default"

    @property
    def required(self) -> bool:
        """Return whether a project is needed; a pin implies the requirement."""
        return self.require_project or self.pinned


@dataclass(frozen=True)
class Destination:
    """The effective project. Source `pin` without an id is a pin that the owner does not have: it files nowhere."""

    project_id: int | None
    source: Source


@dataclass(frozen=True)
class WriteDecision:
    """What a create or edit leads to: the refusal's code or empty, what to store, and the effective destination."""

    refused: str
    stored: int | None
    destination: Destination


def resolve_destination(stored: int | None, policy: Policy) -> Destination:
    """Return the pin, else the stored project, else none (projects.md, Policy)."""
    if policy.pinned:
        return Destination(policy.pin_id, "pin")
    if stored is not None:
        return Destination(stored, "stored")
    return Destination(None, "none")


def decide_write(
    *,
    sent: int | Unsent | None,
    stored: int | None,
    strict: bool,
    policy: Policy,
    existing: Collection[int],
    pickable: Collection[int],
) -> WriteDecision:
    """Decide a create or edit (P1 to P6).

    `sent` is UNSENT when the client left the field out; an id that is not the owner's is any id outside `existing`.
    `stored` is what the schedule has now (None at create). `strict` is true for a create and for an edit that leaves
    the schedule on. `existing` are the owner's projects that are not deleted, `pickable` those not archived either.
    """
    kept = stored if sent is UNSENT else sent
    if sent is UNSENT:
        refused = ""
    elif sent is None:
        refused = _refused_null(policy, strict=strict)
    else:
        refused = _refused_id(sent, stored, policy, existing, pickable)
    destination = resolve_destination(kept, policy)
    if refused or not strict:
        return WriteDecision(refused, kept, destination)
    if destination.project_id is None:
        missing = "project_not_found" if destination.source == "pin" else "project_required" if policy.required else ""
        return WriteDecision(missing, kept, destination)
    if destination.project_id not in existing:
        return WriteDecision("project_not_found", kept, destination)
    return WriteDecision("", destination.project_id, destination)


def _refused_null(policy: Policy, *, strict: bool) -> str:
    """Return why an explicit null cannot be taken (P3), or an empty string."""
    if policy.pinned:
        return "project_pinned"
    return "project_required" if policy.required and strict else ""


def _refused_id(
    sent: int, stored: int | None, policy: Policy, existing: Collection[int], pickable: Collection[int]
) -> str:
    """Return why an explicit id cannot be taken (P2), or an empty string."""
    if sent not in existing or (sent not in pickable and sent != stored):
        return "project_not_found"
    return "project_pinned" if policy.pinned and sent != policy.pin_id else ""
