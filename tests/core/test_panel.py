"""What every page's view shares: who may see it, where a form leads, and answers that say nothing new."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpRequest, HttpResponse
from django.test import RequestFactory
from django_htmx.middleware import HtmxDetails

from core.errors import Refusal
from core.panel import face, is_htmx, not_modified, unchanged, watched, where_from

PAGE: dict[str, str] = {}
FRAGMENT = {"HTTP_HX_REQUEST": "true"}


def asked(user: Any = None, path: str = "/somewhere/", **headers: str) -> HttpRequest:
    request = RequestFactory().get(path, **headers)
    request.user = user or AnonymousUser()
    request.htmx = HtmxDetails(request)  # type: ignore[attr-defined]
    return request


def test_a_stranger_is_led_to_sign_in_and_a_fragment_is_told_so():
    view = face(lambda request: HttpResponse("inside"))
    assert view(asked(path="/c/?q=x"))["Location"] == "/accounts/login/?next=/c/%3Fq%3Dx"
    assert view(asked(**FRAGMENT)).status_code == 401


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [(Refusal("already_running"), 409, "already_running"), (Http404(), 404, "not_found")],
)
def test_a_refusal_is_a_page_or_a_toast_with_its_code(error: Exception, status: int, code: str, alice: Any):
    def refusing(request: HttpRequest) -> HttpResponse:
        raise error

    for headers in (PAGE, FRAGMENT):
        response = face(refusing)(asked(alice, **headers))
        assert response.status_code == status
        assert f'data-code="{code}"' in response.content.decode()
        assert ("HX-Reswap" in response) is bool(headers)


def test_a_refusal_that_says_when_to_come_back_says_so_in_its_header(alice: Any):
    def refusing(request: HttpRequest) -> HttpResponse:
        raise Refusal("stopped_by_operator", retry_after=60, reason="x")

    response = face(refusing)(asked(alice))
    assert (response.status_code, response["Retry-After"]) == (503, "60")


def test_no_page_of_a_person_is_kept_by_a_cache(alice: Any):
    response = face(lambda request: HttpResponse("inside"))(asked(alice))
    assert "no-store" in response["Cache-Control"]
    assert "private" in response["Cache-Control"]


@pytest.mark.parametrize(
    ("wanted", "led"),
    [
        ("/runs/?q=x", "/runs/?q=x"),
        ("https://example.org/", "/panel/"),
        ("//example.org", "/panel/"),
        ("javascript:alert(1)", "/panel/"),
        ("", "/panel/"),
    ],
)
def test_a_form_leads_only_to_our_own_pages(wanted: str, led: str):
    request = RequestFactory().post("/act", {"next": wanted})
    assert where_from(request, "/panel/") == led


def test_versions_are_compared_weakly_and_in_lists():
    request = RequestFactory().get("/", headers={"If-None-Match": 'W/"abc", "def"'})
    assert unchanged(request, "abc")
    assert unchanged(request, "def")
    assert not unchanged(request, "ab")
    assert not unchanged(RequestFactory().get("/"), "")


def test_an_answer_says_its_version_and_when_to_look_again():
    for response in (not_modified("abc", 2), watched(HttpResponse(), "abc", 2)):
        assert (response["ETag"], response["Quotidian-Every"]) == ('"abc"', "2")


def test_going_back_in_history_gets_the_whole_page():
    assert is_htmx(asked(HTTP_HX_REQUEST="true"))
    assert not is_htmx(asked(HTTP_HX_REQUEST="true", HTTP_HX_HISTORY_RESTORE_REQUEST="true"))
    assert not is_htmx(asked())
