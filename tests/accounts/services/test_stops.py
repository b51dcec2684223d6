"""The global stop (gate row 1)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from accounts.selectors.stops import global_stop
from accounts.services.stops import global_stop_set
from core.errors import Refusal
from tests.factories import NOW


def test_it_is_off_until_somebody_switches_it(olivia: Any):
    assert global_stop() is None
    global_stop_set(on=True, reason=" Moving house ", actor=olivia, now=NOW)
    stop = global_stop()
    assert stop is not None
    assert (stop.reason, stop.since, stop.by) == ("Moving house", NOW, "Olivia")
    global_stop_set(on=False, now=NOW)
    assert global_stop() is None


def test_saying_it_again_changes_the_reason_and_not_since_when(db: None):
    global_stop_set(on=True, reason="One", now=NOW)
    global_stop_set(on=True, reason="Two", now=NOW + timedelta(hours=1))
    stop = global_stop()
    assert stop is not None
    assert (stop.reason, stop.since) == ("Two", NOW)


def test_no_switch_lifts_the_environments_stop(settings: Any, db: None, django_assert_num_queries: Any):
    settings.GLOBAL_STOP, settings.GLOBAL_STOP_REASON = True, "Set outside"
    global_stop_set(on=False, now=NOW)
    with django_assert_num_queries(0):
        stop = global_stop()
    assert stop is not None and stop.reason == "Set outside"


def test_a_reason_that_is_too_long_is_refused(db: None):
    with pytest.raises(Refusal) as caught:
        global_stop_set(on=True, reason="x" * 301, now=NOW)
    assert caught.value.code == "too_long"
    assert global_stop() is None
