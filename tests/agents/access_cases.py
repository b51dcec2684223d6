"""Who reaches which agent (see tests/support/access.py)."""

from __future__ import annotations

from accounts.models import User
from tests import factories
from tests.support.access import Case, Listing, Theirs


def _agent(owner: User) -> str:
    return f"agents/{factories.make_agent(owner=owner).public_id}"


def _listed(owner: User) -> tuple[str, str]:
    return "agents", factories.make_agent(owner=owner).public_id


CASES: dict[str, Case] = {"GET agents": Listing(_listed), "GET agents/<str:id>": Theirs(_agent)}
