"""Start leased turns: ask their origins, make conversations, store what the user says, open attempts.

One transaction for a batch; the gate's refusals settle in it without a model call (R16). Afterwards the attempts are
marked as dispatched in a commit of their own: a worker lost before that called nobody, and its retry is free.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal

from django.db import transaction
from django.db.models import F, Max
from django.db.models.functions import Coalesce

from accounts.domain.limits import Limits
from accounts.selectors.deletions import deleting
from accounts.selectors.stops import global_stop
from agents.runtime.types import Said
from chats import lifecycle
from chats.domain.origins import begun_by_person
from chats.domain.states import TurnStatus
from chats.models import Conversation, Message, Turn, TurnAttempt
from chats.services.turns_order import conversations_hold, owners_hold_counting
from chats.services.turns_rate import Metered, turns_meter
from chats.services.turns_settle import settled, stopped_as
from chats.services.turns_spend import turns_reserve
from chats.services.turns_stop import close_draft
from core.db import locked, update_many
from core.registry import StartPlan, StartRefused, StartWait, origin_of

STOP_SECONDS = 5.0
"""Until a turn that was leased as the global stop or its owner's deletion came up is looked at again; no claim takes it
before that ends."""


@dataclass(frozen=True)
class Work:
    """One started turn: what the drain needs to call the model and to write the answer."""

    turn: Turn
    fence: int
    message_id: int
    attempt_id: int
    prompt: str
    seconds_left: float
    history: tuple[Said, ...] = ()


def turns_start(*, turns: Sequence[Turn], now: datetime) -> list[Work]:
    """Start what may start and return it; the rest is settled or released. Lost leases are left alone."""
    with transaction.atomic():
        held, limits = _still_held(turns)
        answers = _ask_origins(held, now)
        metered = _ask_providers(_in_order(held, of=turns), answers, now)
        reserved = _ask_budgets(_in_order(held, of=turns), answers, limits, now)
        go = [turn for turn in held if isinstance(answers.get(turn.pk), StartPlan)]
        _turn_away(held, answers, now)
        works = _begin(go, answers, metered, reserved, now)
        for name in {turn.origin for turn in go}:
            if room := origin_of(name):
                room.started([turn for turn in go if turn.origin == name], now=now)
    return works


def turns_dispatch(*, works: Sequence[Work], now: datetime) -> list[Work]:
    """Commit that the calls of `works` leave now; return those that may: a lost lease calls nobody (R4).

    From here on a lost worker is ambiguous.
    """
    with transaction.atomic():
        leased = Turn.objects.filter(pk__in=[work.turn.pk for work in works], status=TurnStatus.RUNNING)
        fences = {turn.pk: turn.fence for turn in locked(leased.order_by("pk")).only("fence")}
        mine = [work for work in works if fences.get(work.turn.pk) == work.fence]
        TurnAttempt.objects.filter(pk__in=[work.attempt_id for work in mine]).update(dispatched_at=now)
        Turn.objects.filter(pk__in=[work.turn.pk for work in mine]).update(
            attempts_made=F("attempts_made") + 1, first_dispatched_at=Coalesce("first_dispatched_at", now)
        )
    return mine


def _still_held(turns: Sequence[Turn]) -> tuple[list[Turn], dict[int, Limits]]:
    fences = {turn.pk: turn.fence for turn in turns}
    limits = owners_hold_counting({turn.owner_id for turn in turns})
    conversations_hold(turn_ids=fences)
    rows = locked(
        Turn.objects.filter(pk__in=fences, status=TurnStatus.RUNNING)
        .select_related("owner", "agent__model__provider", "conversation")
        .order_by("pk")
    )
    return [row for row in rows if row.fence == fences[row.pk]], limits


def _ask_origins(held: list[Turn], now: datetime) -> dict[int, StartPlan | StartRefused | StartWait]:
    answers: dict[int, StartPlan | StartRefused | StartWait] = {}
    for turn in held:
        if turn.stop_requested_at is not None:
            answers[turn.pk] = StartRefused(stopped_as(turn), turn.stop_reason, {})
        elif turn.leased_seconds >= turn.deadline_seconds:  # R27: nothing is left for another call
            answers[turn.pk] = StartRefused(
                TurnStatus.FAILED, "deadline", {"minutes": round(turn.deadline_seconds / 60)}
            )
    # Under the owners' lock: a deletion that is asked for now is before this or finds the turn running (A4, A5).
    fenced = deleting({turn.owner_id for turn in held})
    waiting = [turn.pk for turn in held if turn.owner_id in fenced and turn.pk not in answers]
    answers |= dict.fromkeys(waiting, StartWait(STOP_SECONDS))
    asked = [turn for turn in held if turn.pk not in answers]
    stopped = any(not begun_by_person(turn.origin) for turn in asked) and global_stop() is not None
    answers |= {turn.pk: StartWait(STOP_SECONDS) for turn in asked if stopped and not begun_by_person(turn.origin)}
    asked = [turn for turn in asked if turn.pk not in answers]
    for name in {turn.origin for turn in asked}:
        room = origin_of(name)
        mine = [turn for turn in asked if turn.origin == name]
        if room is None:
            raise LookupError(f"no room is registered for turns of origin {name}")
        answers |= room.start(mine, now=now)
    return answers


def _in_order(held: list[Turn], *, of: Sequence[Turn]) -> list[Turn]:
    """Return `held`, which was locked by id, in the order of the claim: there owners take turns (R23)."""
    place = {turn.pk: number for number, turn in enumerate(of)}
    return sorted(held, key=lambda turn: place[turn.pk])


def _ask_providers(held: list[Turn], answers: dict, now: datetime) -> dict[int, Metered]:
    """Let those wait whose provider has no room this minute; return what the others count as with theirs."""
    planned = {pk: answer.prompt for pk, answer in answers.items() if isinstance(answer, StartPlan)}
    said = turns_meter(turns=[turn for turn in held if turn.pk in planned], prompts=planned, now=now)
    answers |= {pk: answer for pk, answer in said.items() if isinstance(answer, StartWait)}
    return {pk: answer for pk, answer in said.items() if isinstance(answer, Metered)}


def _ask_budgets(held: list[Turn], answers: dict, limits: Mapping[int, Limits], now: datetime) -> dict[int, Decimal]:
    """Refuse what does not fit a budget or a credit; return what the others reserve. Last: who waits reserves nothing."""
    plans = {pk: answer for pk, answer in answers.items() if isinstance(answer, StartPlan)}
    said = turns_reserve(turns=held, plans=plans, limits=limits, now=now)
    answers |= {pk: answer for pk, answer in said.items() if isinstance(answer, StartRefused)}
    return {pk: answer for pk, answer in said.items() if isinstance(answer, Decimal)}


def _turn_away(held: list[Turn], answers: dict, now: datetime) -> None:
    refused = []
    for turn in held:
        answer = answers[turn.pk]
        lease = lifecycle.Fenced(turn.pk, turn.fence)
        if isinstance(answer, StartWait):
            lifecycle.release(lease, now=turn.queued_at, not_before=now + timedelta(seconds=answer.seconds))
        elif isinstance(answer, StartRefused) and lifecycle.settle(
            lease, status=answer.status, now=now, error_code=answer.reason, error_params=answer.params
        ):
            close_draft(turn.pk, now=now)
            refused.append(turn.pk)
    settled(refused, now=now)


def _begin(
    go: list[Turn], answers: dict, metered: Mapping[int, Metered], reserved: Mapping[int, Decimal], now: datetime
) -> list[Work]:
    said = _said_before([turn for turn in go if turn.conversation_id is not None])
    _give_conversations(go, answers, now)
    drafts, asked = _store_messages(go, answers, now)
    attempts = TurnAttempt.objects.bulk_create([_attempt(turn, metered.get(turn.pk), now) for turn in go])
    update_many(
        Turn,
        ["conversation", "started_at", "reserved"],
        [
            (turn.conversation_id, turn.started_at or now, reserved.get(turn.pk, Decimal(0)), turn.pk, turn.fence)
            for turn in go
        ],
        keys=["pk", "fence"],
    )
    return [
        Work(
            turn=turn,
            fence=turn.fence,
            message_id=drafts[turn.pk],
            attempt_id=attempt.pk,
            prompt=asked[turn.pk],
            seconds_left=turn.deadline_seconds - turn.leased_seconds,
            history=said.get(turn.pk, ()),
        )
        for turn, attempt in zip(go, attempts, strict=True)
    ]


def _attempt(turn: Turn, metered: Metered | None, now: datetime) -> TurnAttempt:
    attempt = TurnAttempt(turn=turn, number=turn.attempts_made + 1, fence=turn.fence, started_at=now)
    if metered is not None:
        attempt.metered_by_id, attempt.metered_tokens = metered.provider_id, metered.tokens
    return attempt


def _said_before(turns: list[Turn]) -> dict[int, tuple[Said, ...]]:
    """Return what other turns of each turn's conversation said, oldest first; nothing for a first turn's retry."""
    if not turns:
        return {}
    own = {turn.conversation_id: turn.pk for turn in turns}
    said: dict[int, list[Said]] = {turn.pk: [] for turn in turns}
    rows = Message.objects.filter(conversation__in=own).exclude(state="streaming").order_by("sequence")
    for row in rows.exclude(turn__in=turns):
        role: Literal["user", "assistant"] = "assistant" if row.role == "assistant" else "user"
        said[own[row.conversation_id]].append(Said(role, row.text, row.model_messages or None))
    return {turn_id: tuple(messages) for turn_id, messages in said.items()}


def _give_conversations(go: list[Turn], answers: dict, now: datetime) -> None:
    new = [turn for turn in go if turn.conversation_id is None]
    made = Conversation.objects.bulk_create(
        [
            Conversation(
                owner_id=turn.owner_id,
                project_id=answers[turn.pk].project_id,
                agent_id=turn.agent_id,
                title=answers[turn.pk].title,
                origin=turn.origin,
                created_at=now,
                updated_at=now,
            )
            for turn in new
        ]
    )
    for turn, conversation in zip(new, made, strict=True):
        turn.conversation = conversation


def _store_messages(go: list[Turn], answers: dict, now: datetime) -> tuple[dict[int, int], dict[int, str]]:
    """Store each turn's user message and the draft of its answer once; a later attempt takes both over.

    Return the drafts' ids and what the user said, by turn: the page and the model have the same words.
    """
    there, asked = _already_stored(go)
    if there:
        update_many(
            Message,
            ["fence", "text", "state"],
            [(turn.fence, "", "streaming", there[turn.pk]) for turn in go if turn.pk in there],
        )
    fresh = [turn for turn in go if turn.pk not in there]
    last = dict(
        Message.objects.filter(conversation__in=[turn.conversation_id for turn in fresh])
        .values_list("conversation_id")
        .annotate(last=Max("sequence"))
    )
    rows = []
    for turn in fresh:
        sequence = last.get(turn.conversation_id, 0)
        common = {"conversation_id": turn.conversation_id, "turn": turn, "created_at": now}
        rows.append(Message(sequence=sequence + 1, role="user", text=answers[turn.pk].prompt, **common))
        rows.append(
            Message(
                sequence=sequence + 2, role="assistant", state="streaming", fence=turn.fence,
                source=_source(turn), **common,
            )
        )  # fmt: skip
    made = Message.objects.bulk_create(rows)
    drafts = there | {row.turn_id: row.pk for row in made if row.role == "assistant" and row.turn_id}
    return drafts, {turn.pk: answers[turn.pk].prompt for turn in fresh} | asked


def _already_stored(go: list[Turn]) -> tuple[dict[int, int], dict[int, str]]:
    retried = [turn.pk for turn in go if turn.started_at is not None]
    rows = list(Message.objects.filter(turn__in=retried).only("turn", "role", "text")) if retried else []
    drafts = {row.turn_id: row.pk for row in rows if row.role == "assistant" and row.turn_id}
    return drafts, {
        row.turn_id: row.text for row in rows if row.role == "user" and row.turn_id and row.turn_id in drafts
    }


def _source(turn: Turn) -> dict[str, str]:
    """Name who answers, as it was at that moment: the label stays true when the agent changes later."""
    model = turn.agent.model
    return {"kind": model.provider.kind, "model": str(model), "agent": turn.agent.name}
