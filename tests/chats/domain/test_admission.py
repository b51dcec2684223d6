"""May a turn that no person started call a model now? (conversations.md, Admission; gate rows 1 to 3, 8 and 13)"""

from dataclasses import replace

import pytest

from agents.domain.facts import AgentFacts
from chats.domain.admission import GO, AdmissionFacts, Verdict, admit, agent_usable, holds, model_usable

ALICE, BOB = 1, 2
AGENT = AgentFacts(id=7, name="Scribe", owner_id=None, deleted=False, enabled=True, model_ok=True)
FINE = AdmissionFacts(owner_id=ALICE, owner_active=True, stopped=False, stop_reason="", deleting=False, agent=AGENT)
STOPPED = replace(FINE, stopped=True, stop_reason="Maintenance")

# In the order in which they are asked: (what is wrong, the facts, the answer).
ROWS = [
    (
        "global stop",
        {"stopped": True, "stop_reason": "Maintenance"},
        Verdict("wait", "stopped_by_operator", {"reason": "Maintenance"}),
    ),
    ("owner's deletion", {"deleting": True}, Verdict("wait", "account_deleting")),
    ("owner inactive", {"owner_active": False}, Verdict("refused", "owner_inactive")),
    ("agent's row gone", {"agent": None}, Verdict("refused", "agent_deleted")),
    ("agent deleted", {"agent": replace(AGENT, deleted=True)}, Verdict("refused", "agent_deleted")),
    (
        "agent of somebody else",
        {"agent": replace(AGENT, owner_id=BOB)},
        Verdict("refused", "agent_forbidden", {"agent": "Scribe"}),
    ),
    (
        "agent switched off",
        {"agent": replace(AGENT, enabled=False)},
        Verdict("refused", "agent_disabled", {"agent": "Scribe"}),
    ),
    (
        "model off",
        {"agent": replace(AGENT, model_ok=False)},
        Verdict("refused", "model_unavailable", {"agent": "Scribe"}),
    ),
]


@pytest.mark.parametrize(("facts", "answer"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_each_fact_alone_has_its_answer(facts, answer):
    assert admit(replace(FINE, **facts)) == answer


def test_nothing_wrong_is_go_for_a_shared_agent_and_for_ones_own():
    assert admit(FINE) is GO
    assert admit(replace(FINE, agent=replace(AGENT, owner_id=ALICE))) is GO


def test_the_first_row_that_hits_wins():
    """With everything wrong at once the answers come in the order of the rows as each is mended."""
    bad_agent = replace(AGENT, deleted=True, owner_id=BOB, enabled=False, model_ok=False)
    facts = AdmissionFacts(ALICE, owner_active=False, stopped=True, stop_reason="x", deleting=True, agent=bad_agent)
    mend = [
        {"stopped": False},
        {"deleting": False},
        {"owner_active": True},
        {"agent": replace(bad_agent, deleted=False)},
        {"agent": replace(bad_agent, deleted=False, owner_id=None)},
        {"agent": replace(bad_agent, deleted=False, owner_id=None, enabled=True)},
        {"agent": AGENT},
    ]
    heard = [admit(facts).reason]
    for change in mend:
        facts = replace(facts, **change)
        heard.append(admit(facts).reason)
    assert heard == [
        "stopped_by_operator", "account_deleting", "owner_inactive", "agent_deleted", "agent_forbidden",
        "agent_disabled", "model_unavailable", "",
    ]  # fmt: skip


def test_each_part_asks_its_own_rows_only():
    """The schedules' gate puts rows of its own between these, so no part may answer for another."""
    assert holds(replace(FINE, agent=None)) is GO
    assert agent_usable(replace(STOPPED, agent=replace(AGENT, model_ok=False))) is GO
    assert model_usable(replace(STOPPED, agent=replace(AGENT, enabled=False))) is GO
    assert model_usable(replace(FINE, agent=None)) is GO
