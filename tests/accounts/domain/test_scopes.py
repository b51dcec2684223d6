"""What tokens may do (accounts.md, Tokens)."""

from __future__ import annotations

import pytest

from accounts.domain.scopes import SCOPES, fire_scope, fires_only, grants, known


@pytest.mark.parametrize("scope", SCOPES)
def test_known_scopes(scope: str):
    assert known(scope)


@pytest.mark.parametrize("scope", ["", "admin", "schedules", "fire:", "fire:a b", "*"])
def test_unknown_scopes(scope: str):
    assert not known(scope)


@pytest.mark.parametrize("scope", ["fire:", "fire:a b", "fire:../x", "fire:" + "a" * 41, "runs:read"])
def test_a_fire_scope_names_one_schedule(scope: str):
    assert fire_scope("fire:sch_0123abc")
    assert not fire_scope(scope)


def test_a_scope_grants_itself_alone():
    assert grants(["runs:read"], ["runs:read"])
    assert not grants(["runs:write"], ["runs:read"])
    assert grants(["runs:read"], ["schedules:read", "runs:read"])
    assert not grants(["runs:read"], [])


def test_a_fire_token_reads_nothing():
    assert fires_only(["fire:sch_1"])
    assert not grants(["fire:sch_1"], ["any"])
    assert grants(["fire:sch_1", "runs:read"], ["any"])
    assert not grants(["fire:sch_1"], ["fire:sch_2"])
    assert not grants([], ["any"])
