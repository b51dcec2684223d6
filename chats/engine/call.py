"""One turn's model call: from started work to how it ended. Never raises: the worst is `internal` for that turn (R39)."""

from __future__ import annotations

import asyncio
import logging
import random
from dataclasses import dataclass, field
from typing import Any

from agents.runtime.generate import generate
from agents.runtime.types import ModelFailure
from agents.selectors import spec_for
from chats.engine.leaving import Leave, Leaving
from chats.services.turns_settle import Ended
from chats.services.turns_start import Work
from core.crypto import Unreadable

logger = logging.getLogger(__name__)

# Why a task was cancelled, said before `cancel()`.
STOP, LOST, SHUTDOWN = "stop", "lost", "shutdown"
GRACE_SECONDS = 5.0


@dataclass
class Live:
    """A turn being worked in this process: its text so far, and why it was cancelled if it was."""

    work: Work
    pieces: list[str] = field(default_factory=list)
    flushed: int = 0
    task: asyncio.Task[Ended] | None = None
    cancelled_for: str = ""
    stop_reason: str = ""
    leased_before_beat: bool = False

    @property
    def text(self) -> str:
        """Return everything written so far; joining is left to whoever reads."""
        if len(self.pieces) > 1:
            self.pieces[:] = ["".join(self.pieces)]  # the same list: the runtime holds its `append`
        return self.pieces[0] if self.pieces else ""

    def cancel(self, why: str, stop_reason: str = "") -> None:
        """End the call; the first reason given stays."""
        if self.task is not None and not self.cancelled_for:
            self.cancelled_for, self.stop_reason = why, stop_reason
            self.task.cancel()


async def call(live: Live, leaving: Leaving) -> Ended:
    """Call the model for `live`, in its turn among those that leave, and return how it ended, with what was written."""
    try:
        async with leaving.turn() as place:
            return await _answer(live, place)
    except asyncio.CancelledError:
        ending = cancelled(live)
        if ending is None:
            raise
        return ending
    except TimeoutError:
        return _end(live, "timed_out", code="deadline", params=_minutes(live))
    except ModelFailure as failure:
        return _failed(live, failure)
    except Unreadable:
        # Nobody was called, and it is the operator's to mend, like a key that the provider refuses.
        logger.error("the key of the provider of turn %s cannot be read with this ENCRYPTION_KEY", live.work.turn.pk)
        return _end(live, "failed", code="provider_auth", certainty="definite", detail="the sealed key is unreadable")
    except Exception as error:
        logger.exception("turn %s failed inside", live.work.turn.pk)
        return _end(live, "failed", code="internal", certainty="ambiguous", detail=type(error).__name__)


def cancelled(live: Live) -> Ended | None:
    """Return how a cancelled call ended, also one that was cancelled before its first step; None for a lost lease."""
    if live.cancelled_for == STOP:
        return _end(live, "stopped", code=live.stop_reason or "stopped_by_owner")
    if live.cancelled_for == SHUTDOWN:
        return _end(live, "lost", code="worker_lost", certainty="ambiguous", retryable=True)
    return None


async def _answer(live: Live, place: Leave) -> Ended:
    work = live.work
    left = max(work.seconds_left, 0.1)
    spec = spec_for(work.turn.agent, request_timeout=left)
    # The runtime keeps the deadline and then still knows the usage; this one is for a library that does not come back.
    async with asyncio.timeout(left + GRACE_SECONDS):
        answer = await generate(spec, work.history, work.prompt, on_text=live.pieces.append, on_sent=place.left)
    return _end(
        live,
        "answered",
        text=answer.text,
        cut=answer.cut,
        input_tokens=answer.input_tokens,
        cached_tokens=answer.cached_tokens,
        output_tokens=answer.output_tokens,
        usage_estimated=answer.usage_estimated,
        model_messages=answer.messages_json or "",
        library=answer.library_version,
    )


def _failed(live: Live, failure: ModelFailure) -> Ended:
    timed_out = failure.code == "deadline"
    return _end(
        live,
        "timed_out" if timed_out else "failed",
        text=live.text or failure.text,
        code=failure.code,
        detail=failure.detail,
        certainty=failure.certainty,
        retryable=failure.retryable,
        retry_after=failure.retry_after,
        input_tokens=failure.input_tokens,
        cached_tokens=failure.cached_tokens,
        output_tokens=failure.output_tokens,
        usage_estimated=failure.usage_estimated,
        params=_minutes(live) if timed_out else {},
    )


def _end(live: Live, how: str, *, text: str | None = None, **more: Any) -> Ended:
    work = live.work
    return Ended(
        turn_id=work.turn.pk, fence=work.fence, how=how, text=live.text if text is None else text,
        chance=random.random(), **more,
    )  # fmt: skip


def _minutes(live: Live) -> dict[str, Any]:
    return {"minutes": round(live.work.turn.deadline_seconds / 60)}
