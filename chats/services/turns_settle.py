"""End the lease of a turn: settle it with everything that follows, or queue its next try. One transaction (R3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F

from chats import lifecycle
from chats.domain.retry import Failed, Tries, next_try, sent_away
from chats.domain.states import TurnStatus
from chats.models import Conversation, Message, Turn, TurnAttempt
from chats.services.turns_order import conversations_hold, owners_hold
from chats.services.turns_spend import counted, storable, turns_bill, usage_columns
from chats.services.turns_telling import tell_key_refused
from core.db import locked, update_many
from core.registry import origin_of


@dataclass(frozen=True)
class Ended:
    """How the call of one leased turn ended, as the worker saw it.

    `how`: answered, failed, stopped, timed_out or lost. `text` is everything that was written, `chance` in [0, 1)
    spreads retries. `retry_after` in seconds. `healing`: said by recovery, void if the lease was renewed meanwhile.
    """

    turn_id: int
    fence: int
    how: str
    text: str
    code: str = ""
    detail: str = ""
    certainty: str = ""
    retryable: bool = False
    retry_after: float | None = None
    cut: bool = False
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    usage_estimated: bool = False
    model_messages: str = ""
    library: str = ""
    chance: float = 0.5
    healing: bool = False
    params: dict[str, Any] = field(default_factory=dict)


def turns_settle(*, ends: Sequence[Ended], now: datetime) -> set[int]:
    """Settle or requeue the turns of `ends`; return the ids whose lease was still ours (R4).

    Raises core.db.Lost when one of several was moved meanwhile: nothing is written, try one by one.
    """
    with transaction.atomic():
        turns = _held(ends)
        mine = counted([(turns[end.turn_id], end) for end in ends if _ours(turns.get(end.turn_id), end, now)])
        _close_attempts(mine, now)
        turns_bill(mine, now=now)
        again = [turn.pk for turn, end in mine if _retry(turn, end, now)]
        _settle([(turn, end) for turn, end in mine if turn.pk not in again], now)
        requeued(again, now=now)
    return {turn.pk for turn, _ in mine}


def _ours(turn: Turn | None, end: Ended, now: datetime) -> bool:
    return turn is not None and turn.fence == end.fence and (not end.healing or _lease_over(turn, now))


def settled(turn_ids: Iterable[int], *, now: datetime) -> None:
    """Tell the origins of turns that reached a terminal status, inside the caller's transaction."""
    _tell("settled", turn_ids, now)


def requeued(turn_ids: Iterable[int], *, now: datetime) -> None:
    """Tell the origins of turns that wait for another try, inside the caller's transaction."""
    _tell("requeued", turn_ids, now)


def _tell(what: str, turn_ids: Iterable[int], now: datetime) -> None:
    ids = list(turn_ids)
    if not ids:
        return
    turns = list(Turn.objects.filter(pk__in=ids).order_by("pk"))
    for name in {turn.origin for turn in turns}:
        if room := origin_of(name):
            getattr(room, what)([turn for turn in turns if turn.origin == name], now=now)


def _held(ends: Sequence[Ended]) -> dict[int, Turn]:
    ids = [end.turn_id for end in ends]
    leaving = owners_hold(turn_ids=ids)
    conversations_hold(turn_ids=ids)
    rows = Turn.objects.filter(pk__in=ids, status=TurnStatus.RUNNING).exclude(owner__in=leaving)
    return {turn.pk: turn for turn in locked(rows.select_related("owner", "agent__model").order_by("pk"))}


def _lease_over(turn: Turn, now: datetime) -> bool:
    return turn.lease_expires_at is not None and turn.lease_expires_at < now


def _close_attempts(mine: Sequence[tuple[Turn, Ended]], now: datetime) -> None:
    update_many(
        TurnAttempt,
        ["ended_at", "outcome", "error_code", "error_text", "certainty", "retryable", "input_tokens", "output_tokens"],
        [
            (
                now, end.how, end.code, clean(end.detail), end.certainty, end.retryable, storable(end.input_tokens),
                storable(end.output_tokens), turn.pk, end.fence,
            )
            for turn, end in mine
        ],
        keys=["turn", "fence"],
    )  # fmt: skip


def _retry(turn: Turn, end: Ended, now: datetime) -> bool:
    if end.how not in ("failed", "lost") or turn.stop_requested_at is not None:
        return False
    uncalled = end.how == "lost" and end.certainty == "definite"  # a lease that called nobody costs nothing
    spent = turn.leased_seconds + (0.0 if uncalled else seconds_leased(turn, now=now))
    at = _next_try(turn, end, now) if spent < turn.deadline_seconds else None  # R27: of all attempts together
    if at is None:
        return False
    # What called nobody has no error of its own: a retry is one still, and ends with the error of its last attempt.
    error = {} if uncalled else {"error_code": end.code, "error_text": clean(end.detail)}
    # A worker that wakes after this finds no draft of its fence (R4).
    Message.objects.filter(turn=turn.pk, role="assistant", fence=end.fence).update(fence=end.fence + 1)
    return lifecycle.release(
        lifecycle.Fenced(turn.pk, end.fence),
        now=now,
        not_before=at,
        leased_seconds=spent,
        **error,
        **usage_columns(turn, end),
    )


def _next_try(turn: Turn, end: Ended, now: datetime) -> datetime | None:
    if end.how == "lost":
        return _after_loss(turn, end, now)
    room = origin_of(turn.origin)
    until = room.retry_until(turn, now=now) if room else None
    return next_try(_failed(turn, end), _tries(turn, now, until), now=now, chance=end.chance)


def _failed(turn: Turn, end: Ended) -> Failed:
    return Failed(
        code=end.code, certainty=end.certainty, retryable=end.retryable, has_text=bool(end.text),
        side_effects=turn.side_effects, retry_after=end.retry_after,
    )  # fmt: skip


def _tries(turn: Turn, now: datetime, until: datetime | None = None) -> Tries:
    return Tries(
        attempts=turn.attempts_made,
        first_dispatched_at=turn.first_dispatched_at or now,
        window_seconds=turn.retry_window_seconds,
        until=until,
    )


def _after_loss(turn: Turn, end: Ended, now: datetime) -> datetime | None:
    """A lost worker: free before the call, once after it when nothing was written and no effect happened."""
    if end.certainty == "definite":
        return now
    lost = TurnAttempt.objects.filter(turn=turn, outcome="lost", dispatched_at__isnull=False).count()
    return now if lost <= 1 and not end.text and not turn.side_effects else None


def _settle(mine: Sequence[tuple[Turn, Ended]], now: datetime) -> None:
    if not mine:
        return
    moves, unauthorized = [], []
    for turn, end in mine:
        status, code = _terminal_of(turn, end, now)
        if code == "provider_auth":
            unauthorized.append(turn)
        columns = {
            "error_code": code,
            "error_text": clean(end.detail),
            "error_params": end.params,
            "output_cut": end.cut,
            "leased_seconds": turn.leased_seconds + seconds_leased(turn, now=now),
            **usage_columns(turn, end),
        }
        moves.append((lifecycle.Fenced(turn.pk, end.fence), status, columns))
    lifecycle.settle_many(moves, now=now)
    _finish_messages(mine)
    Conversation.objects.filter(pk__in=[turn.conversation_id for turn, _ in mine]).update(
        updated_at=now, unread=True, changes=F("changes") + 1
    )
    settled([turn.pk for turn, _ in mine], now=now)
    tell_key_refused(unauthorized, now=now)


def _terminal_of(turn: Turn, end: Ended, now: datetime) -> tuple[str, str]:
    if turn.stop_requested_at is not None and end.how in ("failed", "lost", "stopped"):
        return stopped_as(turn), turn.stop_reason  # never "failed" to somebody who pressed Stop
    if end.how == "answered":
        return TurnStatus.COMPLETED, "" if end.text.strip() else "empty_answer"
    if end.how == "stopped":
        return TurnStatus.STOPPED, end.code or "stopped_by_owner"
    if end.how == "timed_out":
        return TurnStatus.FAILED, "deadline"
    if end.how == "lost":
        return TurnStatus.FAILED, "worker_lost"
    if sent_away(_failed(turn, end), _tries(turn, now), now=now):
        return TurnStatus.FAILED, "rate_limited"
    return TurnStatus.FAILED, end.code or "internal"


def stopped_as(turn: Turn) -> TurnStatus:
    """A person's stop is a stop; a pause, a delete or a newer run cancels what was leased and had not started."""
    by_person = turn.stop_reason.startswith("stopped_by") or turn.started_at is not None
    return TurnStatus.STOPPED if by_person else TurnStatus.CANCELLED


def _finish_messages(mine: Sequence[tuple[Turn, Ended]]) -> None:
    """Store the answers' final text; an answer without a word leaves no empty bubble behind."""
    silent = [turn.pk for turn, end in mine if not end.text.strip()]
    if silent:
        Message.objects.filter(turn__in=silent, role="assistant").delete()
    update_many(
        Message,
        ["text", "state", "model_messages", "library"],
        [
            (
                clean(end.text, None),
                "complete" if end.how == "answered" else "partial",
                clean(end.model_messages, None) if end.how == "answered" else "",
                end.library,
                turn.pk,
                "assistant",
                end.fence,
            )
            for turn, end in mine
            if turn.pk not in silent
        ],
        keys=["turn", "role", "fence"],
    )


def seconds_leased(turn: Turn, *, now: datetime) -> float:
    """Return for how long the turn has been leased; a lease that nobody renewed ended by itself (R27)."""
    if turn.leased_at is None:
        return 0.0
    return max((min(now, turn.lease_expires_at or now) - turn.leased_at).total_seconds(), 0.0)


def clean(text: str, most: int | None = 1000) -> str:
    """Return `text` as every database takes it: no NUL, no lone surrogate, at most `most` characters (R39)."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8", "replace")[:most]
