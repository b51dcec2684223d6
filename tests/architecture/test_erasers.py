"""Every table that leads to a person says how their rows go (A6): a new one cannot be forgotten."""

from __future__ import annotations

import re

import pytest
from django.apps import apps
from django.db import models

from accounts.models import User
from core.registry import erasers
from tests.support.leaving import path_to_user

PLAIN = re.compile(r"(owner|user|person)(_id|_key|_pk)?$")
"""Columns that name a person without a foreign key, as ledgers do that outlive what they count."""

MODELS = {model._meta.label: model for model in apps.get_models() if model is not User}


def leads_to_a_person(model: type[models.Model]) -> bool:
    plain = [f.name for f in model._meta.concrete_fields if not f.is_relation and PLAIN.fullmatch(f.name)]
    return bool(path_to_user(model) or plain)


LEADING = sorted(label for label, model in MODELS.items() if leads_to_a_person(model))


@pytest.mark.parametrize("label", LEADING)
def test_a_table_that_leads_to_a_person_has_an_eraser(label: str):
    """A6"""
    assert label in dict(erasers()), f"register_eraser({label!r}, ...) in its app's `ready`"


def test_what_points_to_something_is_erased_before_it():
    """A6: a row that is still pointed to could not go."""
    order = [label for label, _ in erasers() if label in MODELS]
    for number, label in enumerate(order):
        for field in MODELS[label]._meta.concrete_fields:
            remote = field.remote_field
            if remote is None or remote.model is MODELS[label] or remote.on_delete in (models.SET_NULL,):
                continue
            pointed = remote.model._meta.label
            assert pointed not in order[:number], f"{label} points to {pointed}, which is erased before it"


def test_a_planted_table_would_be_seen():
    assert {"chats.Message", "schedules.Run", "accounts.AuditSubject", "mfa.Authenticator"} <= set(LEADING)
    assert "agents.ModelProvider" not in LEADING
    assert PLAIN.fullmatch("owner_key")
    assert not PLAIN.fullmatch("user_agent")
