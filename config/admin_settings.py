"""Settings of the admin: how it looks, how it is ordered, and what of packages is left out of it."""

from __future__ import annotations

from typing import Any

from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _

ADMIN_LEFT_OUT = ("knox", "account", "mfa", "usersessions")
"""Packages whose tables nobody works with: sign-in and tokens have pages of their own."""
ADMIN_FOR_SUPERUSERS = ("django_q",)
"""Packages whose pages only those with all rights see; they hold ids only."""


def _static(path: str) -> Any:
    return lambda request: static(path)


def _item(title: Any, icon: str, model: str) -> dict[str, Any]:
    app, name = model.split("_", 1)
    return {
        "title": title,
        "icon": icon,
        "link": reverse_lazy(f"admin:{model}_changelist"),
        "permission": lambda request: any(request.user.has_perm(f"{app}.{verb}_{name}") for verb in ("view", "change")),
    }


_QUEUE = {
    "title": _("Queue of hints"),
    "icon": "stacks",
    "link": reverse_lazy("admin:app_list", args=["django_q"]),
    "permission": lambda request: request.user.is_superuser,
}
_FIRST = {"title": _("Overview"), "icon": "monitoring", "link": reverse_lazy("admin:index")}

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Quotidian",
    "SITE_HEADER": "Quotidian",
    "SITE_SUBHEADER": _("Operation"),
    "SITE_URL": "/panel/",
    "SITE_ICON": {"light": _static("favicon.svg"), "dark": _static("favicon.svg")},
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": _static("favicon.svg")}],
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_BACK_BUTTON": True,
    "STYLES": [_static("operators.css")],
    "GLOBAL_CALLBACK": "schedules.admin.dashboard.every_page",
    "DASHBOARD_CALLBACK": "schedules.admin.dashboard.first_page",
    "SIDEBAR": {
        "navigation": [
            {"items": [_FIRST, _item(_("Global stop"), "front_hand", "accounts_globalstop")]},
            {
                "title": _("Schedules"),
                "separator": True,
                "items": [
                    _item(_("Schedules"), "event_repeat", "schedules_schedule"),
                    _item(_("Runs"), "receipt_long", "schedules_run"),
                ],
            },
            {
                "title": _("Chats"),
                "separator": True,
                "items": [
                    _item(_("Conversations"), "chat", "chats_conversation"),
                    _item(_("Turns"), "autorenew", "chats_turn"),
                    _item(_("Projects"), "folder", "projects_chatproject"),
                ],
            },
            {
                "title": _("Agents"),
                "separator": True,
                "items": [
                    _item(_("Agents"), "smart_toy", "agents_agent"),
                    _item(_("Models"), "model_training", "agents_chatmodel"),
                    _item(_("Providers"), "cloud", "agents_modelprovider"),
                ],
            },
            {
                "title": _("People"),
                "separator": True,
                "items": [
                    _item(_("People"), "person", "accounts_user"),
                    _item(_("Groups"), "group", "auth_group"),
                    _item(_("Limits"), "speed", "accounts_limitset"),
                    _item(_("Project policies"), "rule", "projects_projectpolicy"),
                    _item(_("Usage"), "payments", "accounts_usageentry"),
                    _item(_("Credit"), "account_balance_wallet", "accounts_creditentry"),
                    _item(_("Tokens"), "key", "accounts_apitoken"),
                    _item(_("Deletion requests"), "person_remove", "accounts_deletionrequest"),
                    _item(_("Notices"), "notifications", "accounts_notice"),
                ],
            },
            {
                "title": _("System"),
                "separator": True,
                "items": [
                    _item(_("Audit log"), "history", "accounts_auditentry"),
                    _item(_("Worker hosts"), "dns", "chats_workerhost"),
                    _QUEUE,
                ],
            },
        ],
    },
}
