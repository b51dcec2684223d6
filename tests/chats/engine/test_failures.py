"""Seven ways in which a provider fails are seven different rows, and the next occurrence of each is its own chance."""

import pytest

from agents.models import ModelProvider
from chats.models import Message, TurnAttempt
from schedules.models import Run
from tests import factories
from tests.chats.engine.conftest import outcome, written
from tests.fakes.provider import answer_text
from tests.support.engine import HOUR, NOW, fire, ledger
from tests.support.processes import free_port

pytestmark = pytest.mark.django_db(transaction=True)

# (what the provider does, what the ledger says)
CASES = [
    ("down", ("failed", "provider_unreachable")),
    ("slow-20", ("failed", "provider_timeout")),
    ("status-401", ("failed", "provider_auth")),
    ("status-429-after-7200", ("failed", "rate_limited")),
    ("garbage", ("failed", "provider_garbage")),
    ("cut-5", ("failed", "stream_broken")),
    ("empty", ("empty", "empty_answer")),
]


@pytest.fixture
def agent_of_a_provider_that_is_down(transactional_db):
    provider = factories.make_provider(name="Down", base_url=f"http://127.0.0.1:{free_port()}/v1")
    return factories.make_agent(model=factories.make_model(provider=provider))


def test_seven_failures_are_seven_rows_and_the_next_occurrence_of_each_succeeds(
    ask, drained, fake, settings, agent_of_a_provider_that_is_down
):
    """Never "success" when nothing useful came back; an outage leaves no schedule behind."""
    settings.FIRST_TOKEN_SECONDS = 1.0
    runs = {}
    for name, _ in CASES:
        down = {"agent": agent_of_a_provider_that_is_down} if name == "down" else {}
        runs[name] = ask(f"[[{name}]] What is new?", retry_window_seconds=3600 if "429" in name else 0, **down)
    drained()
    assert {name: outcome(run) for name, run in runs.items()} == dict(CASES)
    assert len({outcome(run) for run in runs.values()}) == 7

    settings.FIRST_TOKEN_SECONDS = 60  # the limit was for the slow one
    fake.become("ok")
    ModelProvider.objects.filter(name="Down").update(base_url=fake.url)
    fire(NOW + HOUR)
    drained()
    for name, run in runs.items():
        assert ledger(run.schedule)[1] == ("succeeded", "", NOW + HOUR), name


def test_what_was_written_before_a_failure_is_kept_and_nothing_else_is(ask, drained):
    kept = {"cut-5": True, "error-in-stream-3": True, "stall-2": True, "status-500": False, "nothttp": False}
    runs = {name: ask(f"[[{name}]] What is new?", deadline_seconds=1) for name in kept}
    drained()
    assert {outcome(run)[0] for run in runs.values()} <= {"failed", "timed_out"}
    assert {name: bool(written(run)) for name, run in runs.items()} == kept
    assert set(Message.objects.filter(role="assistant").values_list("state", flat=True)) == {"partial"}
    assert Message.objects.filter(role="assistant").count() == 3


def test_each_attempt_records_how_certain_its_failure_is(ask, drained):
    """runs.md, Failure and retry: the table from the provider's side."""
    table = {
        "status-503": ("definite", True),
        "status-529": ("definite", True),
        "status-500": ("ambiguous", True),
        "status-504": ("ambiguous", True),
        "status-400": ("definite", False),
        "status-404": ("definite", False),
        "filter-3": ("definite", False),
        "cut-3": ("ambiguous", False),
    }
    runs = {name: ask(f"[[{name}]] What is new?") for name in table}
    drained()
    attempts = {attempt.turn_id: attempt for attempt in TurnAttempt.objects.all()}
    found = {name: attempts[run.turn_id] for name, run in runs.items()}
    assert {name: (a.certainty, a.retryable) for name, a in found.items()} == table
    assert {(a.outcome, a.dispatched_at is not None) for a in found.values()} == {("failed", True)}


def test_an_answer_cut_at_the_output_limit_is_kept_and_says_so(ask, drained):
    run = ask("[[length-4]] What is new?")
    drained()
    assert outcome(run) == ("succeeded", "output_limit")
    assert written(run) == answer_text(Run.objects.get().prompt, 4)


def test_503_then_an_answer_is_one_run_with_two_attempts(ask, drained, fake, monkeypatch):
    """B73."""
    monkeypatch.setattr("chats.domain.retry.FIRST_WAIT", 0.1)
    fake.become("status-503", times=1)
    run = ask(kind_of_retry := "What is new?", retry_window_seconds=3600)
    Run.objects.update(kind="manual")  # its schedule's next occurrence, long due, would end the retries
    for _ in range(50):
        drained()
        if outcome(run)[0] != "queued":
            break
    assert outcome(run) == ("succeeded", "")
    assert list(TurnAttempt.objects.order_by("number").values_list("outcome", "error_code")) == [
        ("failed", "provider_overloaded"), ("answered", ""),
    ]  # fmt: skip
    assert [entry["prompt"] for entry in fake.requests()] == [kind_of_retry] * 2


def test_hostile_text_of_a_provider_becomes_an_answer(ask, drained):
    """R39: a NUL, a split and a lone surrogate."""
    run = ask("[[dirty]] What is new?")
    drained()
    assert outcome(run) == ("succeeded", "")
    assert "\x00" not in written(run)


def test_a_key_or_an_address_with_credentials_is_in_no_row(ask, drained, fake, monkeypatch, settings, agent):
    """A failure stores a redacted text."""
    secret = "sk-very-secret-key-1234567890"
    monkeypatch.setenv("TEST_PROVIDER_KEY", secret)
    ModelProvider.objects.filter(pk=agent.model.provider_id).update(key_env="TEST_PROVIDER_KEY")
    run = ask("[[status-401]] What is new?")
    drained()
    assert outcome(run) == ("failed", "provider_auth")
    for text in (Run.objects.get().error_text, TurnAttempt.objects.get().error_text):
        assert secret not in text
