"""The dialog as its template shows it: values, choices, what is wrong and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from agents.selectors import usable_agents, visible_agents
from core.errors import FieldError, Refusal
from core.human import Reader, say
from core.ids import new_id
from core.text import graphemes
from projects.domain.destination import Policy
from projects.models import ChatProject
from projects.selectors import policy_of, projects_of
from schedules.domain.title import KNOWN, moment_words, variables
from schedules.inputs.form import body_to_form, field_of_path
from schedules.models import Schedule
from schedules.outputs.words import model_label
from schedules.panel.choices import fresh_values, offered
from schedules.selectors.lists import state_of_agent

View = dict[str, Any]
Errors = dict[str, list[dict[str, str]]]

_MORE = {
    "ends", "until_date", "until_time", "max_runs", "overlap_policy", "misfire_policy", "misfire_grace_minutes",
    "deadline_minutes", "retry_window_minutes", "notify_on", "enabled",
    "monthly_budget",
}  # fmt: skip
_LISTS = ("days",)
_SWITCHES = ("enabled",)


def typed(post: QueryDict, reader: Reader, schedule: Schedule | None) -> View:
    """Return the values as they were typed, so that a refusal takes nothing away."""
    base = stored_values(schedule, reader) if schedule is not None else fresh_values(reader)
    values = base | {name: post.getlist(name) if name in _LISTS else post[name] for name in base if name in post}
    values |= {name: name in post for name in _SWITCHES}
    return values | {"days": post.getlist("days"), "agent": post.get("agent", base.get("agent", ""))}


def stored_values(schedule: Schedule, reader: Reader) -> View:
    """Return what the form says for a stored schedule; fields of other kinds say what a new one would."""
    stored = {name: value for name, value in body_to_form(schedule).items() if value not in ("", None, [])}
    kept_empty = dict.fromkeys(
        ("deadline_minutes", "until_date", "until_time", "max_runs", "project", "monthly_budget"), ""
    )
    return fresh_values(reader.in_zone(schedule.zone)) | kept_empty | stored


def form_view(
    *,
    owner: User,
    reader: Reader,
    values: Mapping[str, Any],
    schedule: Schedule | None = None,
    refusal: Refusal | None = None,
    fragment: bool,
    **about: Any,
) -> View:
    """Return everything the dialog's template shows. `about` has title, action, look, back, submit and draft."""
    policy, errors = policy_of(owner), errors_of(refusal, str(values.get("kind", "")))
    agents = _agents(owner, schedule, str(values.get("agent", "")))
    v = dict(values) | {"idempotency_key": new_id("key")}
    return {
        **offered(reader),
        **about,
        "v": v,
        "errors": errors,
        "notice": _notice(refusal, errors),
        "agents": agents,
        "projects": _projects(owner, schedule, str(values.get("project", "")), policy),
        "project_required": policy.required,
        "pinned": _pinned(owner, policy) if policy.pinned else None,
        "variables": _variables(reader),
        "prompt_length": f"{graphemes(str(values.get('prompt', ''))):,}",
        "more_open": bool(_MORE & errors.keys()),
        "default_deadline": settings.DEFAULT_DEADLINE_SECONDS // 60,
        "focus": next(iter(errors), about.get("focus", "name")),
        "hint": _hint(schedule),
        "fragment": fragment,
    }


def errors_of(refusal: Refusal | None, kind: str) -> Errors:
    """Return what is wrong by form field, in the order of the refusal."""
    errors: Errors = {}
    for error in refusal.fields if refusal is not None else ():
        errors.setdefault(field_of_path(error.path, kind), []).append(_error(error))
    return errors


def _error(error: FieldError) -> dict[str, str]:
    return {"code": error.code, "text": say(error.code, error.params)}


def _notice(refusal: Refusal | None, errors: Errors) -> View | None:
    if refusal is None:
        return None
    kept = _("Nothing was saved; what you typed is still here.")
    if not errors:
        return {"tone": "bad", "code": refusal.code, "fact": say(refusal.code, refusal.params), "rest": kept}
    count = len(errors)
    fact = ngettext("%(n)s field needs another look.", "%(n)s fields need another look.", count) % {"n": count}
    return {"tone": "bad", "code": refusal.code, "fact": fact, "rest": kept}


def _agents(owner: User, schedule: Schedule | None, chosen: str) -> list[View]:
    usable = set(usable_agents(owner).values_list("pk", flat=True))
    seen = list(visible_agents(owner))
    if schedule is not None and schedule.agent not in seen:
        seen.append(schedule.agent)
    first = next((agent.public_id for agent in seen if agent.pk in usable), "")
    rows = []
    for agent in seen:
        able = agent.pk in usable
        label = model_label(agent.model.provider.kind)
        parts = [agent.description, label] if able else [_state(state_of_agent(agent))]
        name = f"{agent.name or _('Deleted agent')} ({label})" if label else agent.name or _("Deleted agent")
        rows.append(
            {
                "value": agent.public_id,
                "label": name,
                "note": ". ".join(part for part in parts if part),
                "chosen": agent.public_id == (chosen or first),
                "disabled": not able and agent.public_id != chosen,
            }
        )
    return rows


def _state(state: str) -> str:
    return {
        "deleted": _("It was deleted."),
        "disabled": _("It is switched off."),
        "model_unavailable": _("Its model is switched off."),
    }.get(state, _("You may no longer use it."))


def _projects(owner: User, schedule: Schedule | None, chosen: str, policy: Policy) -> list[View]:
    found = [_project(project, chosen) for project in projects_of(owner).filter(archived_at=None).order_by("name_key")]
    stored = schedule.project if schedule is not None else None
    if stored is not None and stored.public_id not in {row["value"] for row in found}:
        found.append(_project(stored, chosen))
    if not policy.required:
        return [{"value": "", "label": _("No project"), "chosen": not chosen, "colour": 0}, *found]
    if chosen in {row["value"] for row in found}:
        return found
    return [{"value": "", "label": _("Choose a project"), "chosen": True, "colour": 0}, *found]


def _project(project: ChatProject, chosen: str) -> View:
    note = _("It was deleted.") if project.deleted_at else _("Archived.") if project.archived_at else ""
    return {
        "value": project.public_id,
        "label": project.name or _("Deleted project"),
        "note": note,
        "chosen": project.public_id == chosen,
        "colour": project.colour,
    }


def _pinned(owner: User, policy: Policy) -> View:
    project = projects_of(owner).filter(pk=policy.pin_id).first() if policy.pin_id is not None else None
    if project is None:
        why = _("An operator set this project, and you have none of that name.")
        return {"name": policy.pin_name, "colour": 8, "why": why}
    why = _("An operator set this project for your schedules.")
    return {"name": project.name, "colour": project.colour, "why": why}


def _variables(reader: Reader) -> list[tuple[str, str]]:
    examples = variables(reader.now, reader.tz) | {"last_run": moment_words(reader.now, reader.tz), "last_answer": "…"}
    return [("{{" + name + "}}", examples[name]) for name in KNOWN]


def _hint(schedule: Schedule | None) -> str:
    if schedule is None or schedule.next_occurrence_at is None:
        return ""
    return _("A run that waits to start uses the new version.")
