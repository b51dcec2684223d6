"""Problem documents, headers and strict JSON at the edge (wire.md, RFC 9457, B83)."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.http import Http404
from django.test import AsyncClient, Client, RequestFactory
from rest_framework import exceptions, serializers

from core.errors import CATALOGUE, FieldError, Refusal
from core.http import policy, problem_handler, server_error
from core.problems import headers_of, problem_of, refusal_of
from core.strict_json import loads
from tests.factories import NOW
from tests.support.calls import browser, caller, code_of, field_codes


def test_a_problem_document_has_exactly_the_members_of_the_wire_format():
    shown = problem_of(Refusal.at("cadence.expression", "too_long", actual=9, most=5))
    assert shown == {
        "type": "urn:quotidian:error:too_long",
        "title": "Too long",
        "status": 400,
        "code": "too_long",
        "detail": "9 characters; 5 is the most.",
        "fields": {"cadence.expression": [{"code": "too_long", "text": "9 characters; 5 is the most."}]},
        "params": {"actual": 9, "most": 5},
    }


def test_several_refused_fields_are_one_document_with_the_code_input_invalid():
    refusal = Refusal.of([FieldError("name", "required"), FieldError("name", "wrong_type", {"expected": "text"})])
    shown = problem_of(refusal)
    assert shown["code"] == "input_invalid"
    assert [error["code"] for error in shown["fields"]["name"]] == ["required", "wrong_type"]


def test_parameters_that_json_has_no_form_for_become_text():
    shown = problem_of(Refusal("quota", at=NOW, spent=Decimal("1.50"), names=("a", {"b": NOW})))
    assert shown["params"] == {
        "at": "2026-06-01T08:00:00Z",
        "spent": "1.50",
        "names": ["a", {"b": "2026-06-01T08:00:00Z"}],
    }
    json.dumps(shown)


@pytest.mark.parametrize("code", [code for code, entry in CATALOGUE.items() if entry.status in (429, 503)])
def test_what_is_refused_for_now_says_when_to_come_back(code: str):
    assert int(headers_of(Refusal(code))["Retry-After"]) >= 1
    assert headers_of(Refusal(code, retry_after=42)) == {"Retry-After": "42"}


def test_an_act_can_answer_another_status_than_the_field_does():
    """projects.md: `project_pinned` is 400 in a field and 409 for an act on the pinned project."""
    refusal = Refusal("project_pinned", status=409, project="Inbox")
    assert problem_of(refusal)["status"] == 409
    assert problem_of(Refusal.at("project", "project_pinned", project="Inbox"))["status"] == 400


@pytest.mark.parametrize(
    ("error", "code", "status"),
    [
        (Http404(), "not_found", 404),
        (exceptions.NotFound(), "not_found", 404),
        (exceptions.NotAuthenticated(), "not_signed_in", 401),
        (exceptions.AuthenticationFailed(), "token_invalid", 401),
        (exceptions.PermissionDenied(), "permission_denied", 403),
        (exceptions.MethodNotAllowed("PUT"), "method_not_allowed", 405),
        (exceptions.Throttled(wait=7), "rate_limited", 429),
        (exceptions.ParseError(), "body_unreadable", 400),
        (exceptions.UnsupportedMediaType("text/plain"), "body_unreadable", 400),
        (exceptions.ValidationError({"a": ["x"]}), "wrong_type", 400),
    ],
)
def test_the_frameworks_errors_become_codes_of_the_catalogue(error: Exception, code: str, status: int):
    answer = problem_handler(error, {})
    assert answer is not None
    assert (answer.status_code, answer.data["code"]) == (status, code)
    assert answer.content_type == "application/problem+json"


def test_an_unforeseen_error_is_left_to_the_servers_own_page_and_says_nothing_of_itself():
    assert problem_handler(ZeroDivisionError("secret"), {}) is None
    answer = server_error(RequestFactory().get("/api/v1/projects"))
    assert code_of(answer_as_response(answer)) == "internal"
    assert b"secret" not in answer.content


def answer_as_response(answer: Any) -> Any:
    answer.json = lambda: json.loads(answer.content)
    return answer


def test_nested_errors_have_dotted_paths():
    detail: Any = {
        "cadence": {"days": {1: ["x"]}},
        "list": [{}, {"at": [exceptions.ErrorDetail("x", code="required")]}],
    }
    refusal = refusal_of(serializers.ValidationError(detail))
    assert refusal is not None
    assert [(error.path, error.code) for error in refusal.fields] == [
        ("cadence.days.1", "wrong_type"),
        ("list.1.at", "required"),
    ]


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "a": 2}', '{"a": {"b": 1, "b": 1}}', '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}', '{"a": "\\ud800"}',
     '{"\\udfff": 1}', "{", "", '{"a": ' + "[" * 50 + "]" * 50 + "}", "[" * 100_000, b"\xff", b'{"a": "\xed\xa0\x80"}',
     '{"a": ' + "9" * 5000 + "}"],
)  # fmt: skip
def test_json_that_is_ambiguous_or_cannot_be_stored_is_refused(text: str | bytes):
    with pytest.raises(Refusal) as refused:
        loads(text)
    assert refused.value.code == "body_unreadable"


def test_ordinary_json_is_read_as_it_is():
    assert loads('{"a": [1, 2.5, null, true, "\\ud83d\\ude00"]}') == {"a": [1, 2.5, None, True, "😀"]}


@pytest.mark.parametrize("body", ["[]", "null", '"text"', "{", '{"name": "a", "name": "b"}', '{"name": NaN}'])
def test_the_body_of_a_request_must_be_one_plain_object(body: str, alice: Any):
    answer = caller(alice).generic("POST", "/api/v1/projects", body, content_type="application/json")
    assert (answer.status_code, code_of(answer)) == (400, "body_unreadable")


def test_a_form_is_not_a_body_of_the_api(alice: Any):
    answer = caller(alice).post("/api/v1/projects", {"name": "a"}, format="multipart")
    assert (answer.status_code, code_of(answer)) == (400, "body_unreadable")


def test_a_body_beyond_four_mebibytes_is_refused(alice: Any):
    body = json.dumps({"name": "x" * (4 * 1024 * 1024)})
    answer = caller(alice).generic("POST", "/api/v1/projects", body, content_type="application/json")
    assert (answer.status_code, code_of(answer)) == (400, "body_unreadable")


def test_a_browser_that_opens_an_address_of_the_api_reads_json(alice: Any):
    answer = browser(alice).get("/api/v1/projects", HTTP_ACCEPT="text/html")
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/json"


def test_unknown_fields_and_wrong_ones_are_named_together(alice: Any):
    answer = caller(alice).post("/api/v1/projects", {"name": "", "colour": "red", "owner": "bob"}, format="json")
    assert code_of(answer) == "input_invalid"
    assert field_codes(answer) == {"name": ["required"], "colour": ["wrong_type"], "owner": ["unknown_field"]}


def test_an_address_of_the_api_that_leads_nowhere_is_a_problem_document():
    answer = Client().get("/api/v1/nothing")
    assert (answer.status_code, code_of(answer)) == (404, "not_found")


def test_a_method_that_an_address_does_not_know_is_named(alice: Any):
    answer = caller(alice).put("/api/v1/projects", {}, format="json")
    assert (answer.status_code, code_of(answer)) == (405, "method_not_allowed")
    assert "GET" in answer["Allow"]
    assert answer.json()["params"] == {"method": "PUT"}


@pytest.mark.parametrize("address", ["/healthz", "/api/v1/projects", "/api/v1/docs/", "/accounts/login/", "/api/v1/x"])
def test_every_answer_has_a_strict_content_security_policy(address: str, db: None):
    answer = Client().get(address)
    csp = answer["Content-Security-Policy"]
    assert "unsafe" not in csp
    assert "default-src 'self'" in csp
    assert "frame-ancestors 'none'" in csp
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "same-origin"
    assert answer["Cross-Origin-Opener-Policy"]


def test_frame_ancestors_are_configurable_for_the_side_panel(settings: Any):
    settings.FRAME_ANCESTORS = ["https://example.org"]
    assert "frame-ancestors https://example.org" in policy()


def test_only_the_page_of_the_api_draws_with_data_images(db: None):
    assert "data:" in Client().get("/api/v1/docs/")["Content-Security-Policy"]
    assert "data:" not in Client().get("/accounts/login/")["Content-Security-Policy"]


def test_the_page_of_the_api_has_nothing_inline(db: None):
    page = Client().get("/api/v1/docs/").content.decode()
    assert "<style" not in page
    assert page.count("<script") == page.count('<script src="')
    assert "//cdn" not in page


def test_a_form_without_its_token_is_refused_on_pages_as_well(alice: Any):
    """B85, B88"""
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    answer = client.post("/accounts/logout/")
    assert answer.status_code == 403
    assert CATALOGUE["csrf_failed"].sentence in answer.content.decode()


@pytest.mark.parametrize(
    "address", ["/api/v1/projects/%00", "/api/v1/conversations/a%00b/turns", "/c/%00", "/panel/?q=%00"]
)
def test_an_address_with_nul_is_not_found_and_never_an_error(address: str, alice: Any):
    answer = browser(alice).get(address)
    assert answer.status_code == 404
    assert "default-src" in answer["Content-Security-Policy"]


def test_what_the_api_answers_is_kept_by_no_cache(alice: Any):
    assert browser(alice).get("/api/v1/projects")["Cache-Control"] == "no-store"


@pytest.mark.parametrize(("address", "status"), [("/healthz", 200), ("/panel/%00", 404)])
def test_under_an_asynchronous_server_the_headers_are_the_same(address: str, status: int):
    answer = async_to_sync(AsyncClient().get)(address)
    assert answer.status_code == status
    assert "default-src 'self'" in answer["Content-Security-Policy"]
