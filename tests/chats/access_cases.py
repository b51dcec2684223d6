"""Who reaches which conversation (see tests/support/access.py)."""

from __future__ import annotations

from collections.abc import Callable

from accounts.models import User
from tests import factories
from tests.support.access import Case, Listing, Own, Theirs


def _conversation(below: str = "") -> Callable[[User], str]:
    return lambda owner: f"conversations/{factories.make_conversation(owner=owner).public_id}{below}"


def _listed(owner: User) -> tuple[str, str]:
    return "conversations", factories.make_conversation(owner=owner).public_id


def _turn(owner: User) -> str:
    conversation = factories.make_conversation(owner=owner)
    turn = factories.make_turn(owner=owner, conversation=conversation)
    return f"conversations/{conversation.public_id}/turns/{turn.public_id}/stop"


CASES: dict[str, Case] = {
    "GET conversations": Listing(_listed),
    "POST conversations": Own("makes a conversation of the one who asks", body={"title": "Notes"}),
    "GET conversations/<str:id>": Theirs(_conversation()),
    "PATCH conversations/<str:id>": Theirs(_conversation(), body={"title": "Taken over"}),
    "DELETE conversations/<str:id>": Theirs(_conversation()),
    "GET conversations/<str:id>/messages": Theirs(_conversation("/messages")),
    "GET conversations/<str:id>/turns": Theirs(_conversation("/turns")),
    "POST conversations/<str:id>/turns/<str:turn>/stop": Theirs(_turn),
    "GET usage": Own("what the one who asks has used"),
}
