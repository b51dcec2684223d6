"""Each rule holds in the whole tree, and is seen to catch a violation planted for it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture import rules
from tests.architecture.tree import ROOT, product_files, python_files

LONG = "x = 1\n" * 60

PLANTED = [
    (rules.status_is_written_by_lifecycles_only, "chats/services/turns.py", "turn.status = 'failed'"),
    (rules.status_is_written_by_lifecycles_only, "chats/services/turns.py", "a, turn.status = 1, 'failed'"),
    (rules.status_is_written_by_lifecycles_only, "chats/engine/drain.py", "turns.update(status='failed')"),
    (rules.status_is_written_by_lifecycles_only, "schedules/services.py", "Run(status='queued')"),
    (rules.status_is_written_by_lifecycles_only, "schedules/services.py", "Run.objects.create(status='queued')"),
    (rules.status_is_written_by_lifecycles_only, "schedules/admin.py", "setattr(run, 'status', 'failed')"),
    (rules.status_is_written_by_lifecycles_only, "schedules/admin.py", "Run.objects.bulk_update(rows, ['status'])"),
    (rules.status_is_written_by_lifecycles_only, "chats/services/x.py", "x.update_or_create(defaults={'status': 1})"),
    (rules.status_is_written_by_lifecycles_only, "chats/queue.py", "sql = 'UPDATE chats_turn SET a=1, status=%s'"),
    (rules.only_the_clock_reads_the_clock, "schedules/services/firing.py", "import datetime\ndatetime.datetime.now()"),
    (rules.only_the_clock_reads_the_clock, "core/http.py", "from datetime import datetime\ndatetime.now(UTC)"),
    (rules.only_the_clock_reads_the_clock, "core/ids.py", "import time\ntime.time()"),
    (rules.only_the_clock_reads_the_clock, "core/ids.py", "from time import time\ntime()"),
    (
        rules.only_the_clock_reads_the_clock,
        "accounts/services/a.py",
        "from django.utils import timezone\ntimezone.now()",
    ),
    (rules.only_the_clock_reads_the_clock, "accounts/models.py", "f = DateTimeField(default=timezone.now)"),
    (rules.only_the_clock_reads_the_clock, "accounts/models.py", "f = DateTimeField(auto_now=True)"),
    (rules.only_the_clock_reads_the_clock, "accounts/models.py", "f = DateTimeField(auto_now_add=True)"),
    (rules.only_the_clock_reads_the_clock, "chats/x.py", "from django.db.models.functions import Now\nNow()"),
    (rules.there_are_no_signals, "chats/apps.py", "from django.db.models.signals import post_save"),
    (rules.there_are_no_signals, "chats/apps.py", "from django.dispatch import receiver"),
    (rules.there_are_no_signals, "chats/apps.py", "import chats.signals"),
    (rules.services_are_keyword_only, "chats/services/turns.py", "def turn_stop(turn, now): ..."),
    (rules.services_are_keyword_only, "chats/services.py", "def turn_stop(*turns, now): ..."),
    (rules.views_are_short, "chats/panel/views.py", "def page(request):\n" + "    x = 1\n" * 15),
    (rules.views_are_short, "chats/panel/views.py", "class V:\n  def get(self, request):\n" + "    x = 1\n" * 15),
    (rules.functions_are_short, "chats/selectors.py", "def much():\n" + "    x = 1\n" * 40),
]

ALLOWED = [
    (rules.status_is_written_by_lifecycles_only, "chats/lifecycle.py", "turn.status = 'failed'"),
    (rules.status_is_written_by_lifecycles_only, "chats/services/turns.py", "if turn.status == 'failed': ..."),
    (rules.status_is_written_by_lifecycles_only, "chats/selectors.py", "Turn.objects.filter(status='failed')"),
    (rules.status_is_written_by_lifecycles_only, "agents/runtime/transport.py", "self.status = 200"),
    (rules.only_the_clock_reads_the_clock, "core/clock.py", "from datetime import datetime\ndatetime.now(UTC)"),
    (rules.only_the_clock_reads_the_clock, "chats/engine/drain.py", "import time\ntime.monotonic()"),
    (rules.only_the_clock_reads_the_clock, "chats/engine/drain.py", "from core import clock\nclock.now()"),
    (rules.services_are_keyword_only, "schedules/services/arming.py", "def schedule_arm(schedule, *, now): ..."),
    (rules.services_are_keyword_only, "schedules/services/arming.py", "def _helper(a, b, now): ..."),
    (rules.services_are_keyword_only, "schedules/services/rows.py", "def columns(run, decision): ..."),
    (rules.views_are_short, "chats/panel/views.py", "def page(request):\n" + "    x = 1\n" * 14),
    (rules.views_are_short, "chats/panel/views.py", "def _form(request):\n" + "    x = 1\n" * 20),
    (rules.functions_are_short, "chats/selectors.py", "def enough():\n" + "    x = 1\n" * 39),
]


def _names(cases: list) -> list[str]:
    return [f"{rule.__name__}-{number}" for number, (rule, _, _) in enumerate(cases)]


@pytest.mark.parametrize("rule", rules.PRODUCT_RULES, ids=lambda rule: rule.__name__)
def test_the_rule_holds_in_every_file_of_the_product(rule):
    found = [line for path in product_files() for line in rule(ast.parse((ROOT / path).read_text()), path)]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(("rule", "path", "source"), PLANTED, ids=_names(PLANTED))
def test_a_planted_violation_is_caught(rule, path, source):
    assert list(rule(ast.parse(source), Path(path)))


@pytest.mark.parametrize(("rule", "path", "source"), ALLOWED, ids=_names(ALLOWED))
def test_what_is_allowed_is_not_caught(rule, path, source):
    assert not list(rule(ast.parse(source), Path(path)))


def test_files_have_at_most_300_lines():
    found = [line for path in python_files() for line in rules.files_are_short((ROOT / path).read_text(), path)]
    assert not found, "\n" + "\n".join(found)


def test_a_planted_long_file_is_caught():
    assert list(rules.files_are_short(LONG * 6, Path("chats/models.py")))
    assert not list(rules.files_are_short(LONG * 5, Path("chats/models.py")))


def test_the_allow_lists_are_short_reasoned_and_not_stale():
    assert len(rules.LONG_FILES) + len(rules.LONG_FUNCTIONS) <= 5
    assert all(reason for reason in [*rules.LONG_FILES.values(), *rules.LONG_FUNCTIONS.values()])
    for name in rules.LONG_FILES:
        assert len((ROOT / name).read_text().splitlines()) > rules.FILE_LINES
