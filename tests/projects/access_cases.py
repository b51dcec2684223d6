"""Who reaches which project (see tests/support/access.py)."""

from __future__ import annotations

from accounts.models import User
from tests import factories
from tests.support.access import Case, Listing, Own, Theirs


def _project(owner: User) -> str:
    return f"projects/{factories.make_project(owner=owner).public_id}"


def _listed(owner: User) -> tuple[str, str]:
    return "projects", factories.make_project(owner=owner).public_id


CASES: dict[str, Case] = {
    "GET projects": Listing(_listed),
    "POST projects": Own("makes a project of the one who asks", body={"name": "Plans"}),
    "GET projects/<str:id>": Theirs(_project),
    "PATCH projects/<str:id>": Theirs(_project, body={"name": "Taken over"}),
    "DELETE projects/<str:id>": Theirs(_project),
    "GET limits": Own("the limits of the one who asks"),
}
