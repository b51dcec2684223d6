"""The one resolver of destinations against the worked examples (P1 to P8, tests/cases/project_policy.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from projects.domain.destination import UNSENT, Destination, Policy, decide_write, resolve_destination

CASES = json.loads((Path(__file__).parents[2] / "cases" / "project_policy.json").read_text())
IDS = {"A": 1, "B": 2, "X": 3, "GONE": 4, None: None}
NAMES = {number: name for name, number in IDS.items()}
MINE = {1, 2}


def policy_of(case: dict[str, Any]) -> Policy:
    pin = case.get("pin")
    return Policy(
        require_project=case.get("require", False), pinned=bool(pin), pin_id=IDS[pin] if IDS[pin] in MINE else None
    )


def decide(case: dict[str, Any], **changes: Any) -> Any:
    return decide_write(
        sent=IDS[case["sent"]["project"]] if "project" in case["sent"] else UNSENT,
        stored=IDS[case.get("stored")],
        strict=case["act"] == "create" or case["leaves"] == "enabled",
        policy=policy_of(case["policy"]),
        existing=MINE,
        pickable=changes.get("pickable", MINE),
    )


@pytest.mark.parametrize("case", CASES["write"], ids=lambda case: f"{case['act']} {case['policy']} {case['sent']}")
def test_writes_decide_as_the_examples_say(case: dict[str, Any]):
    """P1, P2, P3, P4, P5, P6"""
    decision, expected = decide(case), case["result"]
    assert decision.refused == expected.get("code", "")
    if not decision.refused:
        assert decision.destination == Destination(IDS[expected["project"]], expected["source"])
    if "stored_after" in expected:
        assert decision.stored == IDS[expected["stored_after"]]


@pytest.mark.parametrize("case", CASES["fire"], ids=lambda case: f"{case['stored']} {case['policy']}")
def test_fires_resolve_as_the_examples_say(case: dict[str, Any]):
    """P8"""
    policy = policy_of(case["policy"])
    destination = resolve_destination(IDS[case["stored"]], policy)
    if "files_into" in case["result"]:
        assert destination.project_id == IDS[case["result"]["files_into"]]
        assert destination.project_id is None or destination.project_id in MINE
        assert destination.project_id is not None or not policy.required
    elif case["result"]["reason"] == "project_required":
        assert destination == Destination(None, "none") and policy.required
    else:
        assert destination.project_id not in MINE and destination.source != "none"


def test_an_archived_project_is_taken_only_where_it_is_stored_already():
    """P2"""
    case = {"act": "edit", "leaves": "enabled", "stored": "A", "policy": {}, "sent": {"project": "A"}}
    assert decide(case, pickable={2}).refused == ""
    assert decide(case | {"stored": "B"}, pickable={2}).refused == "project_not_found"


def test_an_unusable_pin_is_never_stored():
    """P9"""
    case = {"act": "edit", "leaves": "disabled", "stored": "B", "policy": {"pin": "GONE"}, "sent": {}}
    decision = decide(case)
    assert (decision.refused, decision.stored, decision.destination) == ("", 2, Destination(None, "pin"))


def test_sending_the_pinned_project_itself_is_no_contradiction():
    case = {"act": "edit", "leaves": "disabled", "stored": "B", "policy": {"pin": "A"}, "sent": {"project": "A"}}
    assert (decide(case).refused, decide(case).stored) == ("", 1)
