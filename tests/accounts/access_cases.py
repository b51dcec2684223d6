"""Who reaches what of an account (see tests/support/access.py)."""

from __future__ import annotations

from accounts.models import User
from accounts.services.tokens import token_create
from tests import factories
from tests.support.access import Case, Listing, Operators, Own, Theirs


def _token(owner: User) -> str:
    token, _ = token_create(user=owner, name="Theirs", scopes=["runs:read"], now=factories.NOW)
    return str(token.public_id)


def _listed(owner: User) -> tuple[str, str]:
    return "tokens", _token(owner)


CASES: dict[str, Case] = {
    "GET me": Own("the one who asks"),
    "PATCH me": Own("the one who asks", body={"clock": "12"}),
    "GET me/deletion": Own("the one who asks"),
    "POST me/deletion": Own("ends the account of the one who asks", body={"password": factories.PASSWORD}),
    "DELETE me/deletion": Own("keeps the account of the one who asks"),
    "POST me/deletion/hasten": Own("the one who asks", body={"password": factories.PASSWORD}),
    "GET me/export": Own("what the one who asks has"),
    "GET audit": Operators("what operators did", scope="audit:read"),
    "GET tokens": Listing(_listed),
    "POST tokens": Own("makes a token of the one who asks", body={"name": "CI", "scopes": ["runs:read"]}),
    "DELETE tokens/<str:id>": Theirs(lambda owner: f"tokens/{_token(owner)}", by_token=False),
}
