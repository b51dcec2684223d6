"""One table of every error and reason code, read by exceptions, API, pages, ledger and retry decision.

Pure Python: no Django here, so that the domain may name a code. Sentences are the source language; faces translate.
Named parameters stand in braces. `docs/errors.md` is generated from this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["input", "conflict", "policy", "transient", "internal", "outcome", "notice"]


@dataclass(frozen=True)
class Entry:
    """One code: what kind of problem, the HTTP status when an API answers it, and its sentence.

    `act` is the one act that mends a blocked schedule (the label of its button), or empty.
    """

    code: str
    kind: Kind
    status: int
    sentence: str
    retryable: bool = False
    act: str = ""


def _table(*rows: Entry) -> dict[str, Entry]:
    table = {row.code: row for row in rows}
    if len(table) != len(rows):
        raise ValueError("a code stands twice in the error table")
    return table


def _input(code: str, sentence: str, act: str = "") -> Entry:
    return Entry(code, "input", 400, sentence, act=act)


def _policy(code: str, status: int, sentence: str, act: str = "") -> Entry:
    return Entry(code, "policy", status, sentence, act=act)


def _conflict(code: str, sentence: str, status: int = 409) -> Entry:
    return Entry(code, "conflict", status, sentence)


def _outcome(code: str, sentence: str, act: str = "", *, retryable: bool = False) -> Entry:
    return Entry(code, "outcome", 409, sentence, retryable=retryable, act=act)


def _transient(code: str, status: int, sentence: str) -> Entry:
    return Entry(code, "transient", status, sentence, retryable=True)


CATALOGUE: dict[str, Entry] = _table(
    # What a person or client sent.
    _input("input_invalid", "Some fields need a change. Nothing was stored."),
    _input("required", "This is needed."),
    _input("too_long", "{actual} characters; {most} is the most."),
    _input("too_short", "{actual} characters; {least} is the least."),
    _input("unknown_field", "There is no field called {name} here."),
    _input("wrong_type", "This must be {expected}."),
    _input("out_of_range", "Between {least} and {most} works here."),
    _input("choice_unknown", "One of these works here: {choices}."),
    _input("instant_without_offset", "An instant needs its offset, as in 2026-06-05T07:00:00Z."),
    _input("body_unreadable", "The body is not readable as {expected}."),
    _input("agent_not_found", "There is no such agent for you.", "Choose an agent"),
    _input("project_not_found", "There is no such project of yours.", "Choose a project"),
    _input("conversation_not_found", "There is no such conversation of yours."),
    _input("project_required", "Every schedule needs a project now. Choose one and it goes on.", "Choose a project"),
    _input("project_pinned", "Every run goes to the project {project} here; the pin decides."),
    _input("name_taken", "You already have one called {name}."),
    _input("cadence_invalid", "{problem}", "Edit times"),
    _input("cadence_never_fires", "This lies in the past, or never comes.", "Edit times"),
    _input(
        "cadence_too_complex",
        "This rule takes too long to work out. A simpler one with the same days works.",
        "Edit times",
    ),
    _input("cadence_below_floor", "It runs every {actual}; {least} is the least here.", "Edit times"),
    _input("zone_unknown", "The time zone “{zone}” is not known here. Choose another.", "Choose a zone"),
    _input("email_taken", "There is an account with this e-mail already."),
    _input("password_weak", "{problem}"),
    _input("account_not_found", "There is no account with the e-mail {email}."),
    _input("group_not_found", "There is no group called {name}."),
    _input("scope_unknown", "There is no scope called {scope}."),
    _input("limit_unknown", "There is no limit called {name}."),
    _input("filter_unknown", "There is no filter called {name}."),
    _input("not_offered", "This is not offered here yet; leave it out."),
    _input("proof_wrong", "This password or code is not right."),
    # Who may.
    _policy("not_signed_in", 401, "Sign in, or send a token."),
    _policy("token_invalid", 401, "This token is not known, or its time is over."),
    _policy("sign_in_failed", 400, "E-mail and password do not belong together."),
    _policy("permission_denied", 403, "You may not do this."),
    _policy("scope_missing", 403, "This token lacks the scope {scope}."),
    _policy("csrf_failed", 403, "The page was open for too long. What you typed is kept; send it again."),
    _policy("not_found", 404, "There is nothing here, or it is not yours."),
    _policy("method_not_allowed", 405, "{method} does not work here."),
    _policy(
        "setup_link_invalid",
        410,
        "This set-up link was used or is over 24 hours old. Start the server again to print a new one.",
    ),
    _policy("schedule_limit", 400, "You have {used} of {most} schedules. Delete one, or ask for more."),
    _policy(
        "permission_revoked",
        403,
        "You may no longer use schedules here. Ask an operator to give it back.",
    ),
    _policy("feature_disabled", 403, "Schedules are switched off for your account."),
    _policy("owner_inactive", 403, "The account was inactive."),
    _policy("last_operator", 409, "Nobody would be left to operate. Make somebody else an operator first."),
    # Conflicts.
    _conflict("already_running", "A run is not finished yet. Its rule says: skip this time."),
    _conflict("schedule_changed", "It was changed meanwhile. Both versions are kept; choose one."),
    _conflict("idempotency_conflict", "This key was used for another request."),
    _conflict("gone", "It was deleted.", 410),
    _conflict("account_deleting", "Your account is being deleted. Nothing runs until that ends or is cancelled.", 410),
    _conflict("deletion_missing", "Nobody asked for the deletion of this account."),
    _conflict("deletion_committed", "The account is being erased already. That cannot be taken back."),
    # Not now.
    _transient(
        "stopped_by_operator",
        503,
        "Everything is on hold. An operator stopped all runs: “{reason}”. Nothing is lost; what falls due waits.",
    ),
    _transient("account_state_unknown", 503, "Whether this account is being deleted cannot be read. Nothing was done."),
    _transient("rate_limited", 429, "Too many requests for now; the next one has to wait."),
    _transient("not_ready", 503, "The server is not ready yet. Try again in a few seconds."),
    Entry(
        "internal",
        "internal",
        500,
        "Something broke on our side. It is recorded and nothing of yours is lost.",
        act="Switch on again",
    ),
    # Why a schedule is blocked, a run refused.
    _outcome("agent_deleted", "Its agent is gone. Choose another and it goes on.", "Choose an agent"),
    _outcome("agent_forbidden", "You may no longer use the agent {agent}.", "Choose an agent"),
    _outcome("agent_disabled", "The agent {agent} is switched off.", "Choose an agent"),
    _outcome("project_deleted", "Its project is gone. Choose where it goes from now on.", "Choose a project"),
    _outcome("conversation_gone", "Its conversation is gone. Choose where it goes from now on.", "Choose a project"),
    _outcome("goal_held", "Its goal is blocked: resume the goal first.", "Switch on again"),
    _outcome("model_unavailable", "Its model is switched off. Choose an agent with another one.", "Choose an agent"),
    _outcome("too_many_failures", "It failed {count} times in a row, last with: {last}", "Switch on again"),
    _outcome("insufficient_balance", "{count} runs in a row found no credit.", "Switch on again"),
    _outcome("by_operator", "An operator blocked it."),
    # Why a run was skipped, missed, cancelled, stopped.
    _outcome("overlap", "The run before was still busy. Rule: skip this time."),
    _outcome("skip_date", "You left out this date."),
    _outcome("skip_next", "You left out this one."),
    _outcome("balance", "No credit left."),
    _outcome("budget", "This month’s {most} are used up. Runs again on {resumes}."),
    _outcome("quota", "Today’s {most} runs are used up."),
    _outcome("approvals_pending", "5 approvals already wait."),
    _outcome("misfire", "The server noticed it too late. Rule: skip, and say so."),
    _outcome("runs_used_up", "It was due when the schedule's last run had been opened."),
    _outcome("passed_over", "A newer occurrence was due at the same look and ran instead."),
    _outcome("paused", "You paused the schedule before it started."),
    _outcome("blocked", "The schedule was blocked before it started."),
    _outcome("deleted", "You deleted the schedule before it started."),
    _outcome("edited", "You edited the schedule before it started."),
    _outcome("superseded", "The newer version ran instead."),
    _outcome("replaced", "A newer run took its place. Rule: stop it and start."),
    _outcome("stopped_by_owner", "You stopped it. What was written is kept."),
    _outcome("stopped_by_staff", "An operator stopped it. What was written is kept."),
    _outcome("conversation_deleted", "Its conversation was deleted."),
    # How an attempt ended.
    _outcome("provider_unreachable", "The provider could not be reached.", retryable=True),
    _outcome("provider_overloaded", "The provider is overloaded.", retryable=True),
    _outcome("provider_error", "The provider reported an error of its own.", retryable=True),
    _outcome("provider_timeout", "The provider did not answer in time.", retryable=True),
    _outcome("provider_garbage", "The provider sent something that is not an answer.", retryable=True),
    _outcome("stream_broken", "The connection broke; what was written is kept."),
    _outcome("provider_auth", "The provider refused the key. The operator has been told."),
    _outcome("model_not_found", "The provider does not know this model."),
    _outcome("provider_rejected", "The provider refused the request."),
    _outcome("context_too_long", "The prompt is too long for this model."),
    _outcome("content_refused", "The model refused to answer this."),
    _outcome("output_limit", "The answer was cut at the model’s limit."),
    _outcome("empty_answer", "The model finished without an answer."),
    _outcome("deadline", "No end within {minutes} minutes. What was written is kept."),
    _outcome(
        "worker_lost",
        "The server went down mid-answer. What was written is kept. It was not run twice, and it does not count against the schedule.",
    ),
    # Notes of the preview and notices.
    Entry(
        "cron_either_day",
        "notice",
        200,
        "Either day field is enough: it runs on the days of the month and on the weekdays.",
    ),
    Entry("day_in_short_months", "notice", 200, "Shorter months use their last day."),
    Entry("leap_day", "notice", 200, "In years without 29 February it runs on the 28th."),
    Entry("clock_shifted", "notice", 200, "Clocks go forward: there is no {time} on {date}; it runs at {moved}."),
    Entry("clock_repeated", "notice", 200, "{time} comes twice on {date}; it runs at the first."),
    Entry("clock_skipped", "notice", 200, "Clocks go forward on {date}: nothing runs in the hour that day lacks."),
    Entry("spread", "notice", 200, "Each run starts within {seconds} s of the time shown."),
    Entry("clock_runs_twice", "notice", 200, "{time} comes twice on {date}; it runs both times."),
    Entry("short_months_left_out", "notice", 200, "Months without a day {day} are left out."),
    Entry("leap_years_only", "notice", 200, "It runs in years with 29 February only."),
    Entry(
        "budget_reached",
        "notice",
        200,
        "{name}: this month’s {most} are used up. What falls due is skipped until {resumes}.",
    ),
    Entry("run_settled", "notice", 200, "{name}: {outcome}"),
    Entry("runs_missed", "notice", 200, "{count} schedules missed runs while the server was away: {names}"),
    Entry("provider_key_refused", "notice", 200, "The provider {provider} refused its key. Set another one."),
    Entry(
        "runs_interrupted",
        "notice",
        200,
        "{name} was interrupted {count} times in a row. Perhaps what it asks for ends the worker.",
    ),
    Entry(
        "deletion_failed",
        "notice",
        200,
        "Deleting an account failed and was called off ({why}). Everything is as it was.",
    ),
    Entry("schedule_blocked", "notice", 200, "{name} is blocked: {why}"),
)


@dataclass
class FieldError:
    """One refusal at one field; `path` is dotted as in the wire format (`cadence.expression`)."""

    path: str
    code: str
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return sentence(self.code, self.params)


class _Keep(dict[str, Any]):
    """Formatting keeps a parameter nobody gave as its name, so that an old row never breaks a page."""

    def __missing__(self, key: str) -> str:
        return key


def sentence(code: str, params: Mapping[str, Any] | None = None) -> str:
    """Return the sentence of `code` with its parameters filled in; an unknown code is returned as it is."""
    entry = CATALOGUE.get(code)
    return entry.sentence.format_map(_Keep(params or {})) if entry else code


class Refusal(Exception):
    """A request or act that is refused with a code of the catalogue.

    `fields` point at inputs; without them the refusal concerns the whole act. `status` is the HTTP status where the
    act decides it (`project_pinned` is 400 in a field and 409 for an act on the pinned project). Raises KeyError for
    a code that is not in the catalogue, so that a new code cannot be forgotten there.
    """

    def __init__(
        self,
        code: str,
        *,
        fields: list[FieldError] | None = None,
        retry_after: int | None = None,
        status: int | None = None,
        **params: Any,
    ) -> None:
        self.entry = CATALOGUE[code]
        self.code = code
        self.status = status or self.entry.status
        self.fields = fields or []
        self.params = params
        self.retry_after = retry_after
        super().__init__(self.text)

    @property
    def text(self) -> str:
        return sentence(self.code, self.params)

    @classmethod
    def at(cls, path: str, code: str, **params: Any) -> Refusal:
        """Refuse one field: the refusal's code is that of its only field (wire.md, Errors)."""
        return cls(code, fields=[FieldError(path, code, params)], **params)

    @classmethod
    def of(cls, errors: list[FieldError]) -> Refusal:
        """Refuse several fields at once; one alone keeps its own code."""
        if len(errors) == 1:
            return cls(errors[0].code, fields=errors, **errors[0].params)
        return cls("input_invalid", fields=errors)
