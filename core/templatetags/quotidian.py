"""The small signs every page is made of: icons, marks, strips, times, and text that is safe to show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from django import template
from django.conf import settings
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from core.human import Stamp
from core.markdown import render

register = template.Library()

_STRIP = {
    "needs_approval": "approval",
    "timed_out": "failed",
    "interrupted": "failed",
    "expired": "missed",
    "cancelled": "skipped",
    "queued": "coming",
    "armed": "coming",
}


@lru_cache(maxsize=512)
def _use(name: str, width: int, height: int) -> SafeString:
    return format_html(
        '<svg width="{}" height="{}" aria-hidden="true"><use href="{}#{}"/></svg>',
        width,
        height,
        static("icons.svg"),
        name,
    )


@register.simple_tag
def icon(name: str, size: int = 16) -> SafeString:
    """Draw one act's icon; the words beside it carry the meaning."""
    return _use(f"i-{name}", size, size)


@register.simple_tag
@lru_cache(maxsize=1024)
def mark(state: str, word: str = "", size: int = 16) -> SafeString:
    """Draw the mark of a state or outcome: a shape, a role, and the word for ears."""
    said = format_html('<span class="vh">{}. </span>', word) if word else ""
    return format_html('<span class="mark" data-s="{}">{}{}</span>', state, _use(f"m-{state}", size, size), said)


@lru_cache(maxsize=64)
def _strip_svg(outcome: str) -> SafeString:
    return format_html(
        '<svg width="8" height="16" data-s="{}" aria-hidden="true"><use href="{}#s-{}"/></svg>',
        outcome,
        static("icons.svg"),
        strip_sign(outcome),
    )


@register.simple_tag
def strip(outcomes: Sequence[str], words: str) -> SafeString:
    """Draw the last outcomes, oldest first; `words` says the counts."""
    signs = format_html_join("", "{}", ((_strip_svg(outcome),) for outcome in outcomes))
    return format_html('<span class="strip" role="img" aria-label="{}">{}</span>', words, signs)


@register.filter
def strip_sign(outcome: str) -> str:
    """Return the strip's sign for an outcome that shares another's silhouette."""
    return _STRIP.get(outcome, outcome)


@register.simple_tag
@lru_cache(maxsize=64)
def sign(outcome: str) -> SafeString:
    """Draw an outcome's sign of a strip, centred on the place where it stands on a line."""
    return format_html(
        '<use href="{}#s-{}" x="-4" y="0" width="8" height="16"/>', static("icons.svg"), strip_sign(outcome)
    )


@register.simple_tag
def stamp(value: Stamp | None) -> SafeString:
    """Write an instant as `<time>`, absolute in its title with the zone."""
    if value is None:
        return mark_safe("")
    return format_html('<time datetime="{}" title="{}">{}</time>', value.iso, value.title, value.text)


@register.filter
def prose(text: str) -> SafeString:
    """Render Markdown that somebody or something else wrote, sanitised."""
    return mark_safe(render(text))


@register.simple_tag
def problem(errors: Mapping[str, Sequence[Any]], name: str) -> SafeString:
    """Write what is wrong with the field `name` under its control: one line per refusal, its code for scripts."""
    lines = format_html_join(
        "",
        '<span data-code="{}">{}</span>',
        ((error["code"], error["text"]) for error in errors.get(name, ())),
    )
    if not lines:
        return mark_safe("")
    return format_html(
        '<p class="error" id="{}-e" data-code="{}">{}<span>{}</span></p>',
        name,
        errors[name][0]["code"],
        _use("i-warn", 14, 14),
        lines,
    )


@register.simple_tag
def describe(errors: Mapping[str, Sequence[Any]], name: str, hint: str = "") -> SafeString:
    """Write the attributes that tie a control to its hint and to what is wrong with it."""
    wrong = name in errors
    about = " ".join(part for part in (f"{name}-e" if wrong else "", hint) if part)
    described = format_html(' aria-describedby="{}"', about) if about else ""
    return format_html("{}{}", mark_safe(' aria-invalid="true"' if wrong else ""), described)


@register.simple_tag
def options(choices: Sequence[tuple[Any, Any]], chosen: Any) -> SafeString:
    """Write the options of a select; a chosen value that is not among them is kept and shown as it is."""
    rows = [(str(value), label) for value, label in choices]
    chosen = str(chosen)
    if chosen and chosen not in {value for value, _ in rows}:
        rows.append((chosen, chosen))
    return format_html_join(
        "",
        '<option value="{}"{}>{}</option>',
        ((value, mark_safe(" selected" if value == chosen else ""), label) for value, label in rows),
    )


@register.simple_tag
def mail_leaves() -> bool:
    """Return whether this server sends mails; otherwise they stand in its log."""
    return "console" not in settings.EMAIL_BACKEND


@register.simple_tag
def sign_up_open() -> bool:
    """Return whether anybody may make an account here."""
    return bool(settings.SIGN_UP)


@register.filter
def drawn(svg: str) -> SafeString:
    """Return a drawing that the server made (a QR code) as part of the page, without its XML declaration."""
    return mark_safe(svg[svg.index("<svg") :])


@register.filter
def label_of(bound: Any) -> str:
    """Return what a field of a sign-in form is called here, whatever the package calls it."""
    once = "password2" not in bound.form.fields
    said = {
        "email": _("E-mail"),
        "oldpassword": _("Current password"),
        "password1": _("Password") if once else _("New password"),
        "password2": _("New password, once more"),
        "code": _("Code"),
    }
    return said.get(bound.html_name) or str(bound.label)
