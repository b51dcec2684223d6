"""Fills the gate's facts, in bulk: some ten queries however many schedules are due. All of it database reads (R8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count

from accounts.domain.limits import Limits
from accounts.domain.spend import Purse
from accounts.models import User
from accounts.selectors.deletions import deleting
from accounts.selectors.limits import limits_for
from accounts.selectors.permissions import permitted
from accounts.selectors.stops import Stop, global_stop
from agents.domain.facts import AgentFacts
from agents.selectors import agent_facts
from chats.domain.admission import AdmissionFacts
from projects.domain.destination import Policy, resolve_destination
from projects.selectors import ProjectFacts, policies_for, project_facts
from schedules.domain.cadence import CadenceError, stored_cadence, zone_of
from schedules.domain.gate import Facts
from schedules.domain.occurrences_window import never_due
from schedules.domain.states import UNFINISHED, RunKind
from schedules.models import Run, Schedule
from schedules.selectors.quota import used_today
from schedules.selectors.spend import over_spend, purses_of


@dataclass(frozen=True)
class Shared:
    """What many decisions at one instant have in common, read once."""

    stop: Stop | None
    active: set[int]
    deleting: set[int]
    permitted: set[int]
    limits: dict[int, Limits]
    policies: dict[int, Policy]
    agents: dict[int, AgentFacts]
    projects: dict[int, ProjectFacts]
    unfinished: dict[int, int]
    used_today: dict[int, int]
    purses: dict[int, Purse]


def shared_facts(
    *,
    owners: Collection[int],
    agents: Collection[int],
    projects: Collection[int],
    schedules: Collection[int] = (),
    spending: bool = True,
    now: datetime,
) -> Shared:
    """Read everything the gate asks about these owners, agents, projects and schedules.

    Without `spending` budgets and credits are left to whoever reserves (`chats/services/turns_spend`).
    """
    policies = policies_for(owners)
    limits = limits_for(owners)
    people = User.objects.filter(pk__in=owners).only("pk", "is_active", "zone", "on_credit", "budgeted")
    pins = {policy.pin_id for policy in policies.values() if policy.pin_id is not None}
    return Shared(
        stop=global_stop(),
        active={user.pk for user in people if user.is_active},
        deleting=deleting(owners),
        permitted=permitted(owners, "use_schedules"),
        limits=limits,
        policies=policies,
        agents=agent_facts(agents),
        projects=project_facts({*projects, *pins}),
        unfinished=_unfinished(schedules),
        used_today=used_today(limits=limits, now=now),
        purses=purses_of(people, limits=limits, now=now) if spending else {},
    )


def shared_for(schedules: Iterable[Schedule], *, now: datetime) -> Shared:
    """Read what the gate asks about `schedules`."""
    rows = list(schedules)
    return shared_facts(
        owners={s.owner_id for s in rows},
        agents={s.agent_id for s in rows},
        projects={s.project_id for s in rows if s.project_id is not None},
        schedules=[s.pk for s in rows if s.pk],
        now=now,
    )


def _unfinished(schedules: Collection[int]) -> dict[int, int]:
    if not schedules:
        return {}
    rows = Run.objects.filter(schedule__in=schedules, settled_at__isnull=True, status__in=UNFINISHED)
    return dict(rows.values_list("schedule_id").annotate(n=Count("pk")))


def destination_of(schedule: Schedule, shared: Shared) -> tuple[int | None, str]:
    """Return where the schedule files now, and a code when that is gone or not the owner's (P8)."""
    found = resolve_destination(schedule.project_id, shared.policies[schedule.owner_id])
    if found.source == "pin" and found.project_id is None:
        return None, "project_deleted"
    return found.project_id, project_problem(found.project_id, schedule.owner_id, shared)


def project_problem(project_id: int | None, owner_id: int, shared: Shared) -> str:
    """Return `project_deleted` for a project that is gone or somebody else's, else nothing."""
    if project_id is None:
        return ""
    project = shared.projects.get(project_id)
    fine = project is not None and not project.deleted and project.owner_id == owner_id
    return "" if fine else "project_deleted"


def cadence_problem(schedule: Schedule) -> tuple[str, dict[str, Any]]:
    """Return the code that says why the stored rule cannot be computed, with its parameters, or nothing."""
    try:
        zone_of(schedule.zone)
        never = never_due(stored_cadence(schedule.cadence), schedule.zone, schedule.planned_through)
    except CadenceError as error:
        return error.reason()
    return ("cadence_never_fires" if never else ""), {}


def admission_facts(owner_id: int, agent_id: int, shared: Shared) -> AdmissionFacts:
    """Return what admission asks about an owner and an agent."""
    return AdmissionFacts(
        owner_id=owner_id,
        owner_active=owner_id in shared.active,
        stopped=shared.stop is not None,
        stop_reason=shared.stop.reason if shared.stop else "",
        deleting=owner_id in shared.deleting,
        agent=shared.agents.get(agent_id),
    )


def schedule_facts(
    schedule: Schedule, shared: Shared, *, kind: str = RunKind.SCHEDULED, unfinished: int = 0, serial: bool = False
) -> Facts:
    """Return the facts for a fire, a manual run or a write of `schedule`."""
    project_id, project_error = destination_of(schedule, shared)
    cadence_error, cadence_params = cadence_problem(schedule)
    owner_id, limits = schedule.owner_id, shared.limits[schedule.owner_id]
    over = _over_spend(owner_id, schedule, schedule.agent_id, schedule.prompt, shared) or over_quota(owner_id, shared)
    return Facts(
        admission=admission_facts(schedule.owner_id, schedule.agent_id, shared),
        kind=kind,
        feature_enabled=limits.enabled,
        permitted=schedule.owner_id in shared.permitted,
        deleting=schedule.deleting_at is not None,
        enabled=schedule.enabled,
        blocked=bool(schedule.blocked_reason),
        cadence_error=cadence_error,
        cadence_params=cadence_params,
        min_gap_seconds=schedule.min_gap_seconds,
        floor_seconds=limits.min_interval_seconds,
        require_project=shared.policies[schedule.owner_id].required,
        project_id=project_id,
        project_error=project_error,
        overlap=schedule.overlap_policy,
        serial=serial,
        unfinished=shared.unfinished.get(schedule.pk, 0) + unfinished,
        **over,
    )


def _over_spend(owner_id: int, schedule: Schedule | None, agent_id: int, prompt: str, shared: Shared) -> dict[str, Any]:
    """Return the gate's `over` when another run does not fit a budget or a credit; asked before the runs of the day."""
    agent, most = shared.agents.get(agent_id), shared.limits[owner_id].monthly_spend
    if agent is None:
        return {}
    over = over_spend(shared.purses.get(owner_id), schedule, prompt=prompt, prices=agent.prices, most=most)
    return {"over": over.reason, "over_params": over.params} if over is not None else {}


def over_quota(owner_id: int, shared: Shared, *, more: int = 0) -> dict[str, Any]:
    """Return the gate's `over` when today's runs of the owner, and `more` that start with it, use up the quota."""
    most = shared.limits[owner_id].daily_runs
    if most is None or shared.used_today.get(owner_id, 0) + more < most:
        return {}
    return {"over": "quota", "over_params": {"most": most}}


def run_facts(runs: Iterable[Run], *, spending: bool = False, now: datetime) -> dict[int, Facts]:
    """Return the facts at `start` by run id: the recorded destination of each, under today's rules (P11).

    Without `spending` budgets and credits are left to whoever reserves (`chats/services/turns_spend`).
    """
    rows = list(runs)
    shared = shared_facts(
        owners={run.owner_id for run in rows},
        agents={run.agent_id for run in rows},
        projects={run.project_id for run in rows if run.project_id is not None},
        spending=spending,
        now=now,
    )
    found: dict[int, Facts] = {}
    starting: Counter[int] = Counter()  # of one batch each start counts for the next
    for run in rows:
        found[run.pk] = _run_facts(run, shared, more=starting[run.owner_id])
        starting[run.owner_id] += run.started_at is None
    return found


def _run_facts(run: Run, shared: Shared, *, more: int) -> Facts:
    schedule = run.schedule
    quota = over_quota(run.owner_id, shared, more=more) if run.started_at is None else {}
    over = _over_spend(run.owner_id, schedule, run.agent_id, run.prompt, shared) or quota
    return Facts(
        admission=admission_facts(run.owner_id, run.agent_id, shared),
        kind=run.kind,
        feature_enabled=shared.limits[run.owner_id].enabled,
        permitted=run.owner_id in shared.permitted,
        deleting=schedule is not None and schedule.deleting_at is not None,
        enabled=schedule is None or schedule.enabled,
        blocked=schedule is not None and bool(schedule.blocked_reason),
        require_project=shared.policies[run.owner_id].required and run.project_recorded,
        project_id=run.project_id,
        project_error=project_problem(run.project_id, run.owner_id, shared),
        **over,
    )
