"""The gate: may this run? One answer per row, first hit wins, only a decision at `fire` blocks (R16, R18)."""

from dataclasses import replace

import pytest

from agents.domain.facts import AgentFacts
from chats.domain.admission import AdmissionFacts
from core.errors import CATALOGUE
from schedules.domain.gate import GO, Decision, Facts, Moment, decide, words
from schedules.domain.outcome import never_ran

AGENT = AgentFacts(id=7, name="Scribe", owner_id=None, deleted=False, enabled=True, model_ok=True)
ADMITTED = AdmissionFacts(owner_id=1, owner_active=True, stopped=False, stop_reason="", deleting=False, agent=AGENT)
FINE = Facts(admission=ADMITTED, min_gap_seconds=3600, floor_seconds=3600)


def admission(**changes):
    return {"admission": replace(ADMITTED, **changes)}


def agent(**changes):
    return admission(agent=replace(AGENT, **changes))


FIRE, START, RESUME, WRITE = Moment.FIRE, Moment.START, Moment.RESUME, Moment.WRITE
ALL = {FIRE, START, RESUME, WRITE}
ACTS = {FIRE, START, RESUME}

# (gate row, what is wrong, decision at fire, moments at which the row is asked)
ROWS = [
    ("1", admission(stopped=True, stop_reason="x"), Decision("wait", "stopped_by_operator", {"reason": "x"}), ACTS),
    ("2", admission(deleting=True), Decision("wait", "account_deleting"), ACTS),
    ("3", admission(owner_active=False), Decision("refused", "owner_inactive"), ALL),
    ("4", {"feature_enabled": False}, Decision("refused", "feature_disabled"), ALL),
    ("5", {"permitted": False}, Decision("refused", "permission_revoked", blocks=True), ALL),
    ("6 deleting", {"deleting": True}, Decision("cancelled", "deleted"), ACTS),
    ("6 superseded", {"superseded": True}, Decision("cancelled", "superseded"), ACTS),
    ("6 off", {"enabled": False}, Decision("cancelled", "paused"), ACTS),
    ("6 blocked", {"blocked": True}, Decision("cancelled", "blocked"), ACTS),
    (
        "7 unreadable",
        {"cadence_error": "zone_unknown", "cadence_params": {"zone": "Nowhere/Zone"}},
        Decision("refused", "zone_unknown", {"zone": "Nowhere/Zone"}, blocks=True),
        {FIRE, WRITE},
    ),
    (
        "7 floor",
        {"floor_seconds": 7200},
        Decision("refused", "cadence_below_floor", {"actual": "60 minutes", "least": "2 hours"}, blocks=True),
        {FIRE, WRITE},
    ),
    ("8 gone", admission(agent=None), Decision("refused", "agent_deleted", blocks=True), ALL),
    ("8 deleted", agent(deleted=True), Decision("refused", "agent_deleted", blocks=True), ALL),
    ("8 foreign", agent(owner_id=2), Decision("refused", "agent_forbidden", {"agent": "Scribe"}, blocks=True), ALL),
    ("8 off", agent(enabled=False), Decision("refused", "agent_disabled", {"agent": "Scribe"}, blocks=True), ALL),
    ("9", {"require_project": True}, Decision("refused", "project_required", blocks=True), ALL),
    ("10", {"project_error": "project_deleted"}, Decision("refused", "project_deleted", blocks=True), ALL),
    ("10 target", {"project_error": "conversation_gone"}, Decision("refused", "conversation_gone", blocks=True), ALL),
    ("11", {"goal_held": True}, Decision("refused", "goal_held", blocks=True), ALL),
    ("13", agent(model_ok=False), Decision("refused", "model_unavailable", {"agent": "Scribe"}, blocks=True), ALL),
    ("14 balance", {"over": "balance"}, Decision("skipped", "balance"), ACTS),
    ("14 quota", {"over": "quota", "over_params": {"most": 3}}, Decision("skipped", "quota", {"most": 3}), ACTS),
    ("15", {"unfinished": 1}, Decision("skipped", "overlap"), {FIRE}),
    ("16", {"approvals_waiting": 5}, Decision("skipped", "approvals_pending"), {FIRE}),
]
CASES = [
    pytest.param(change, decision, moments, moment, id=f"row {row} at {moment}")
    for row, change, decision, moments in ROWS
    for moment in Moment
]


@pytest.mark.parametrize(("change", "decision", "moments", "moment"), CASES)
def test_each_row_answers_at_its_moments_and_only_fire_blocks(change, decision, moments, moment):
    expected = replace(decision, blocks=decision.blocks and moment is FIRE) if moment in moments else GO
    assert decide(replace(FINE, **change), moment) == expected


@pytest.mark.parametrize("moment", list(Moment))
def test_nothing_wrong_is_go(moment):
    assert decide(FINE, moment) == GO


@pytest.mark.parametrize("moment", list(Moment))
def test_the_first_row_that_hits_wins(moment):
    """With every row hit at once, mending them one by one hears the answers in the order of the rows."""
    heard, expected = [], []
    for number, (_, _, decision, moments) in enumerate(ROWS):
        heard.append(decide(_everything_wrong_from(number), moment).reason)
        left = [d.reason for _, _, d, asked in ROWS[number:] if moment in asked]
        expected.append(left[0] if left else "")
        assert moment not in moments or heard[-1] == decision.reason
    assert heard == expected


def _everything_wrong_from(first: int) -> Facts:
    """Return facts in which the rows from `first` on are wrong; those before are fine."""
    facts, wrong_admission = FINE, ADMITTED
    for _, change, _, _ in reversed(ROWS[first:]):  # an earlier row's value stands where two rows share a fact
        wrong_admission = _merged(wrong_admission, change.get("admission", ADMITTED))
        facts = replace(facts, **{**change, "admission": wrong_admission})
    # Rows 9 and 10 exclude each other: a project that is gone is not "no project" (P8).
    return replace(facts, project_error="") if facts.require_project else facts


def _merged(into: AdmissionFacts, other: AdmissionFacts) -> AdmissionFacts:
    names = ("owner_active", "stopped", "stop_reason", "deleting")
    changed = {name: getattr(other, name) for name in names if getattr(other, name) != getattr(ADMITTED, name)}
    if other.agent != ADMITTED.agent:
        changed["agent"] = other.agent
        if other.agent is not None and into.agent is not None:
            fields = ("deleted", "owner_id", "enabled", "model_ok")
            wrong = {f: getattr(other.agent, f) for f in fields if getattr(other.agent, f) != getattr(AGENT, f)}
            changed["agent"] = replace(into.agent, **wrong)
    return replace(into, **changed)


@pytest.mark.parametrize("kind", ["manual", "api", "trial"])
def test_a_run_by_hand_does_not_mind_the_switch_the_block_and_the_rule_but_all_else(kind):
    """R7: works on a paused or blocked schedule; R16: what others forbid is forbidden by hand too."""
    off = replace(FINE, kind=kind, enabled=False, blocked=True, cadence_error="cadence_invalid", floor_seconds=86_400)
    assert decide(off, FIRE) == GO
    assert decide(replace(off, deleting=True), FIRE).reason == "deleted"
    assert decide(replace(off, permitted=False), FIRE).reason == "permission_revoked"
    assert decide(replace(off, unfinished=1), FIRE).reason == "overlap"


@pytest.mark.parametrize(
    ("policy", "unfinished", "answer"),
    [
        ("skip", 0, GO), ("skip", 1, Decision("skipped", "overlap")), ("skip", 2, Decision("skipped", "overlap")),
        ("queue_one", 0, GO), ("queue_one", 1, GO), ("queue_one", 2, Decision("skipped", "overlap")),
        ("replace", 0, GO), ("replace", 1, Decision("replace")), ("replace", 3, Decision("replace")),
        ("allow", 0, GO), ("allow", 1, GO), ("allow", 9, GO),
    ],
)  # fmt: skip
def test_the_overlap_rule_decides_while_a_run_is_unfinished(policy, unfinished, answer):
    assert decide(replace(FINE, overlap=policy, unfinished=unfinished), FIRE) == answer


@pytest.mark.parametrize("policy", ["skip", "queue_one", "replace", "allow"])
def test_the_later_ones_of_several_at_one_look_wait_whatever_the_overlap_rule_says(policy):
    """C9: under `run_all` each waits for the one before."""
    assert decide(replace(FINE, overlap=policy, unfinished=4, serial=True), FIRE) == GO


def test_four_waiting_approvals_are_no_reason_yet():
    assert decide(replace(FINE, approvals_waiting=4), FIRE) == GO


def test_a_schedule_exactly_at_its_floor_or_without_a_gap_keeps_it():
    assert decide(replace(FINE, min_gap_seconds=3600, floor_seconds=3600), FIRE) == GO
    assert decide(replace(FINE, min_gap_seconds=None, floor_seconds=3600), FIRE) == GO
    assert decide(replace(FINE, min_gap_seconds=3599, floor_seconds=3600), FIRE).reason == "cadence_below_floor"


def test_a_project_that_is_gone_is_said_as_gone_also_where_one_is_required():
    """P8: a pin that the owner does not have is `project_deleted`, never "none"."""
    facts = replace(FINE, require_project=True, project_id=None, project_error="project_deleted")
    assert decide(facts, FIRE).reason == "project_deleted"


@pytest.mark.parametrize("decision", [row[2] for row in ROWS if row[2].verdict != "wait"])
def test_every_reason_is_in_the_catalogue_and_leads_to_the_status_of_its_verdict(decision):
    assert decision.reason in CATALOGUE
    assert never_ran(decision.reason) == decision.verdict


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (1, "1 seconds"), (60, "1 minute"), (90, "90 seconds"), (300, "5 minutes"), (3600, "60 minutes"),
        (7200, "2 hours"), (86_400, "24 hours"), (172_800, "2 days"), (93_600, "26 hours"),
    ],
)  # fmt: skip
def test_gaps_are_said_in_the_largest_whole_unit(seconds, said):
    assert words(seconds) == said
