"""Reads of the ledger page and of a schedule's own page."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Q, QuerySet

from accounts.models import User
from chats.models import Conversation
from projects.models import ChatProject
from schedules.models import Run, Schedule
from schedules.selectors.lists import runs_of

PAGE_SIZE = 50
NEEDS_A_LOOK = ["failed", "timed_out", "interrupted", "refused", "missed", "expired", "empty"]


@dataclass(frozen=True)
class Wanted:
    """What the ledger page is asked for: instants, and `before`, the run after which the page begins."""

    statuses: list[str] = field(default_factory=list)
    schedule: str = ""
    since: datetime | None = None
    until: datetime | None = None
    text: str = ""
    before: str = ""


def ledger_page(owner: User, wanted: Wanted) -> tuple[list[Run], bool]:
    """Return one page of the owner's runs, newest first, and whether older ones follow. No count is taken."""
    runs = _matching(owner, wanted)
    last = runs_of(owner).filter(public_id=wanted.before).first() if wanted.before else None
    if last is not None:
        older = Q(scheduled_for=last.scheduled_for, pk__lt=last.pk) | Q(scheduled_for__lt=last.scheduled_for)
        runs = runs.filter(older)
    found = list(runs.order_by("-scheduled_for", "-pk")[: PAGE_SIZE + 1])
    return found[:PAGE_SIZE], len(found) > PAGE_SIZE


def _matching(owner: User, wanted: Wanted) -> QuerySet[Run]:
    runs = runs_of(owner).select_related("turn")
    if wanted.statuses:
        runs = runs.filter(status__in=wanted.statuses)
    if wanted.schedule:
        runs = runs.filter(schedule__public_id=wanted.schedule)
    if wanted.since is not None:
        runs = runs.filter(Q(scheduled_for__gte=wanted.since) | Q(missed_until__gte=wanted.since))
    if wanted.until is not None:
        runs = runs.filter(scheduled_for__lt=wanted.until)
    if wanted.text:
        runs = runs.filter(Q(name__icontains=wanted.text) | Q(reason__icontains=wanted.text))
    return runs


def newest_runs(schedule: Schedule, most: int) -> list[Run]:
    """Return the newest rows of one schedule's ledger, newest first."""
    runs = runs_of(schedule.owner).select_related("turn").filter(schedule=schedule)
    return list(runs.order_by("-scheduled_for", "-pk")[:most])


def schedule_names(owner: User) -> list[tuple[str, str]]:
    """Return id and name of the owner's schedules by name, for a filter."""
    rows = Schedule.objects.filter(owner=owner, deleting_at=None).order_by("name")
    return list(rows.values_list("public_id", "name"))


def conversations_kept(schedule: Schedule) -> int:
    """Return how many conversations the schedule's runs made that are still there."""
    runs = Run.objects.filter(schedule=schedule, conversation__deleted_at=None, conversation__isnull=False)
    return runs.values("conversation").distinct().count()


def conversation_run(conversation: Conversation) -> Run | None:
    """Return the newest run that wrote into the conversation, with its schedule; None when none did."""
    runs = Run.objects.filter(conversation=conversation).select_related("schedule")
    return runs.order_by("-scheduled_for", "-pk").first()


def neighbours(run: Run) -> tuple[Run | None, Run | None]:
    """Return the runs before and after `run` of its schedule whose conversations can be read."""
    if run.schedule_id is None:
        return None, None
    others = Run.objects.filter(schedule=run.schedule_id, conversation__isnull=False, conversation__deleted_at=None)
    others = others.exclude(pk=run.pk).exclude(conversation=run.conversation_id).select_related("conversation")
    before = others.filter(scheduled_for__lte=run.scheduled_for).order_by("-scheduled_for", "-pk").first()
    after = others.filter(scheduled_for__gt=run.scheduled_for).order_by("scheduled_for", "pk").first()
    return before, after


def schedules_in_project(project: ChatProject) -> list[Schedule]:
    """Return the owner's schedules that file into the project, by name."""
    rows = Schedule.objects.filter(project=project, owner=project.owner_id, deleting_at=None)
    return list(rows.select_related("owner", "agent__model__provider", "project", "last_run").order_by("name"))
