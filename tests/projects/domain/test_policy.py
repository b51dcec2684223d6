"""How requirement and pin combine (projects.md, Policy)."""

from __future__ import annotations

from typing import Any

from projects.domain.policy import MOST_KEY, Resolved, name_key, resolve_policy


def row(**fields: Any) -> dict[str, Any]:
    return {"require_project": None, "pinned_name": None, "pinned_project_id": None} | fields


def resolve(deployment: Any = None, groups: tuple[Any, ...] = (), user: Any = None) -> Resolved:
    return resolve_policy(deployment=deployment, groups=groups, user=user)


def test_nothing_said_is_nothing_required():
    resolved = resolve()
    assert (resolved.require_project, resolved.pinned, resolved.pin_source) == (False, False, "default")


def test_the_most_specific_scope_wins_also_to_relax():
    strict = row(require_project=True)
    assert resolve(strict, (row(require_project=False),)).require_project is False
    assert resolve(strict, (row(require_project=False),), row(require_project=True)).require_source == "user"
    assert resolve(strict, (row(),), row()).require_project is True


def test_of_several_groups_the_strictest_wins():
    both = (row(require_project=False), row(require_project=True))
    assert resolve(groups=both).require_project is True
    assert resolve(groups=both[::-1]).require_project is True
    pins = (row(pinned_name=""), row(pinned_name="Inbox"))
    assert resolve(groups=pins).pin_name == resolve(groups=pins[::-1]).pin_name == "Inbox"


def test_an_empty_name_says_no_pin_here_and_null_inherits():
    deployment = row(pinned_name="Inbox")
    assert resolve(deployment, user=row(pinned_name="")).pinned is False
    assert resolve(deployment, user=row()).pin_name == "Inbox"


def test_a_pin_of_one_user_is_one_project():
    resolved = resolve(row(pinned_name="Inbox"), user=row(pinned_project_id=7))
    assert (resolved.pinned, resolved.pin_project, resolved.pin_name, resolved.pin_source) == (True, 7, "", "user")


def test_requirement_and_pin_are_inherited_each_for_itself():
    resolved = resolve(row(require_project=True, pinned_name="Inbox"), user=row(pinned_name=""))
    assert (resolved.require_project, resolved.pinned) == (True, False)


def test_names_are_compared_trimmed_composed_and_case_folded():
    """details.md, projects"""
    assert name_key(" STRASSE ") == name_key("straße")
    assert name_key("Cafe\u0301") == name_key("CAFÉ")


def test_a_very_long_name_has_a_key_that_an_index_can_hold():
    family = "👨‍👩‍👧‍👦"
    assert len(name_key(family * 100)) <= MOST_KEY
    assert name_key(family * 100) != name_key(family * 99)
