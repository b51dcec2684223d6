"""People, limits, tokens and the global stop in the admin: written by the services, refused at the field."""

from __future__ import annotations

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Group, Permission
from django.test import Client
from django.urls import reverse

from accounts.models import ApiToken, AuditEntry, GlobalStop, LimitSet, User
from accounts.selectors.stops import global_stop
from accounts.services.access import access_set, limits_forget, password_set
from accounts.services.limits import limits_set
from accounts.services.tokens import token_create
from core.errors import Refusal
from tests.factories import PASSWORD

ADD_USER = "admin:accounts_user_add"
ADD_LIMITS = "admin:accounts_limitset_add"


@pytest.fixture
def operator_client(client: Client, olivia: Any) -> Client:
    client.force_login(olivia)
    return client


def page_of(user: User) -> str:
    return reverse("admin:accounts_user_change", args=[user.pk])


def form_of(client: Client, page: str, **changes: Any) -> dict[str, Any]:
    """Return what a browser would send from the page of a person, with some fields changed."""
    form = client.get(page).context["adminform"].form
    data = {}
    for field in form:
        value = field.value()
        if isinstance(value, list):
            data[field.name] = [getattr(item, "pk", item) for item in value]
        elif value is not None and value is not False:
            data[field.name] = "on" if value is True else value
    data |= changes
    return {name: value for name, value in data.items() if value is not None}


def errors_of(answer: Any) -> Any:
    return answer.context["adminform"].form.errors


def test_a_person_is_made_by_the_service(operator_client: Client) -> None:
    data = {"email": "carol@example.com", "new_password": PASSWORD, "display_name": "Carol", "zone": "Europe/Berlin"}
    assert operator_client.post(reverse(ADD_USER), data).status_code == 302
    carol = User.objects.get(email="carol@example.com")
    assert carol.check_password(PASSWORD)
    assert (carol.is_staff, [group.name for group in carol.groups.all()]) == (False, ["Members"])


def test_what_the_service_refuses_stands_at_its_field_and_makes_nobody(operator_client: Client, alice: Any) -> None:
    data = {"email": "ALICE@example.com", "new_password": "short", "zone": "Nowhere/Zone"}
    wrong = errors_of(operator_client.post(reverse(ADD_USER), data))
    assert set(wrong) == {"email", "new_password", "zone"}
    assert "already" in str(wrong["email"])
    assert User.objects.count() == 2


def test_profile_access_and_password_are_changed(operator_client: Client, alice: Any) -> None:
    staff = Group.objects.create(name="Staff")
    new = "another horse battery"
    changes = {"display_name": "Al", "zone": "Asia/Tokyo", "is_active": None, "groups": [staff.pk], "new_password": new}
    assert operator_client.post(page_of(alice), form_of(operator_client, page_of(alice), **changes)).status_code == 302
    alice.refresh_from_db()
    assert (alice.display_name, alice.zone, alice.is_active) == ("Al", "Asia/Tokyo", False)
    assert list(alice.groups.all()) == [staff]
    assert alice.check_password(new)


def test_an_empty_password_field_keeps_the_password_and_the_page_shows_no_hash(
    operator_client: Client, alice: Any
) -> None:
    before = alice.password
    assert before not in operator_client.get(page_of(alice)).content.decode()
    operator_client.post(page_of(alice), form_of(operator_client, page_of(alice), display_name="Al"))
    alice.refresh_from_db()
    assert (alice.display_name, alice.password) == ("Al", before)


@pytest.mark.parametrize("switch", ["is_active", "is_staff", "is_superuser"])
def test_the_last_operator_stays(operator_client: Client, olivia: Any, switch: str) -> None:
    """accounts.md: somebody has to operate."""
    answer = operator_client.post(page_of(olivia), form_of(operator_client, page_of(olivia), **{switch: None}))
    assert "Nobody would be left" in str(errors_of(answer)[switch])
    olivia.refresh_from_db()
    assert olivia.is_active and olivia.is_staff and olivia.is_superuser


def test_one_of_two_operators_may_go(olivia: Any, make_user: Any, now: Any) -> None:
    other = make_user(operator=True)
    access_set(user=olivia, values={"is_staff": False}, now=now)
    olivia.refresh_from_db()
    assert not olivia.is_staff
    with pytest.raises(Refusal):
        access_set(user=other, values={"is_superuser": False}, now=now)


def test_staff_without_all_rights_cannot_take_them(client: Client, make_user: Any, alice: Any, olivia: Any) -> None:
    staff = make_user(is_staff=True)
    staff.user_permissions.set(
        Permission.objects.filter(content_type__app_label="accounts", codename__endswith="_user")
    )
    client.force_login(staff)
    data = form_of(client, page_of(alice), is_superuser="on", is_staff="on", display_name="Al")
    assert client.post(page_of(alice), data).status_code == 302
    alice.refresh_from_db()
    assert (alice.display_name, alice.is_staff, alice.is_superuser) == ("Al", False, False)
    assert client.post(page_of(olivia), {"display_name": "x", "new_password": PASSWORD}).status_code == 403
    made = {"email": "carol@example.com", "new_password": PASSWORD, "zone": "UTC", "is_staff": "on"}
    assert client.post(reverse(ADD_USER), made).status_code == 302
    assert not User.objects.get(email="carol@example.com").is_staff


def test_staff_without_all_rights_cannot_take_over_a_fellow_operator(
    client: Client, make_user: Any, alice: Any
) -> None:
    """quality.md, Security: a password is all it takes to act as somebody."""
    staff, fellow = make_user(is_staff=True), make_user(is_staff=True)
    rights = Permission.objects.filter(content_type__app_label="accounts", codename__endswith="_user")
    staff.user_permissions.set(rights)
    client.force_login(staff)
    new = "another horse battery"
    for person, may in ((alice, True), (fellow, False)):
        shown = client.get(page_of(person)).content.decode()
        assert ('name="new_password"' in shown) is may
        client.post(page_of(person), form_of(client, page_of(person)) | {"new_password": new})
        person.refresh_from_db()
        assert person.check_password(new) is may


def test_nobody_is_erased_here(operator_client: Client, alice: Any) -> None:
    assert (
        operator_client.post(reverse("admin:accounts_user_delete", args=[alice.pk]), {"post": "yes"}).status_code == 403
    )
    assert User.objects.filter(pk=alice.pk).exists()


def test_a_new_password_is_judged_and_ends_sessions(alice: Any, now: Any) -> None:
    member = Client()
    member.force_login(alice)
    with pytest.raises(Refusal) as refused:
        password_set(user=alice, password="short", now=now)
    assert refused.value.fields[0].code == "password_weak"
    password_set(user=alice, password="another horse battery", now=now)
    assert "_auth_user_id" in member.session
    assert member.get("/panel/").status_code == 302


def log(kind: str) -> list[tuple[str, Any, Any]]:
    rows = AuditEntry.objects.filter(kind=kind).order_by("pk").values_list("act", "before", "after")
    return [row for row in rows if row[0] != "user.added"]


def test_what_an_operator_does_to_a_person_is_noted_once(operator_client: Client, olivia: Any, alice: Any) -> None:
    """A6: that a name changed is noted, the name is not."""
    page, new = page_of(alice), "another horse battery"
    operator_client.post(page, form_of(operator_client, page, display_name="Al", clock="12"))
    operator_client.post(page, form_of(operator_client, page, is_active=None, new_password=new))
    assert log("user") == [
        ("user.changed", {"display_name": "… (before)", "clock": "24"}, {"display_name": "…", "clock": "12"}),
        ("user.access", {"is_active": True}, {"is_active": False}),
        ("user.password", {}, {}),
    ]
    entries = AuditEntry.objects.exclude(act="user.added")
    assert set(entries.values_list("who", "whom", "source")) == {
        (olivia.person_key.key, alice.person_key.key, "admin"),
    }  # fmt: skip
    kept = str(list(AuditEntry.objects.values()))
    assert not any(word in kept for word in (new, "Alice", alice.email, alice.public_id))


def test_limits_are_noted_with_their_values_once(operator_client: Client, olivia: Any, alice: Any, now: Any) -> None:
    """The log is the service's: what no page wrote is in it as well."""
    data = {"scope": "user", "user": alice.pk, "enabled": "unknown", "max_schedules": 3}
    operator_client.post(reverse(ADD_LIMITS), data)
    row = LimitSet.objects.get()
    page = reverse("admin:accounts_limitset_change", args=[row.pk])
    operator_client.post(page, {"enabled": "unknown", "max_schedules": 3})
    limits_set(scope="user", user=alice, values={"daily_runs": None}, actor=olivia, now=now)
    limits_set(scope="user", user=alice, values={"daily_runs": 5}, now=now)
    operator_client.post(reverse("admin:accounts_limitset_delete", args=[row.pk]), {"post": "yes"})
    assert log("limitset") == [
        ("limitset.added", {}, {"max_schedules": 3}),
        ("limitset.changed", {"daily_runs": None}, {"daily_runs": 5}),
        ("limitset.removed", {"max_schedules": 3, "daily_runs": 5}, {}),
    ]
    assert AuditEntry.objects.get(act="limitset.changed").at == now
    with pytest.raises(Refusal):
        limits_set(scope="user", user=alice, values={"daily_runs": -1}, actor=olivia, now=now)
    assert len(log("limitset")) == 3


def test_limits_are_set_by_the_service_and_forgotten(operator_client: Client, alice: Any, now: Any) -> None:
    data = {"scope": "user", "user": alice.pk, "enabled": "unknown", "max_schedules": 3}
    assert operator_client.post(reverse(ADD_LIMITS), data).status_code == 302
    row = LimitSet.objects.get(user=alice)
    assert (row.max_schedules, row.enabled, row.daily_runs) == (3, None, None)
    page = reverse("admin:accounts_limitset_change", args=[row.pk])
    answer = operator_client.post(page, {"enabled": "false", "max_failures": 0, "max_schedules": ""})
    assert "Between 1 and" in str(errors_of(answer)["max_failures"])
    assert operator_client.post(page, {"enabled": "false", "max_schedules": ""}).status_code == 302
    row.refresh_from_db()
    assert (row.max_schedules, row.enabled) == (None, False)
    limits_forget(row=row, now=now)
    assert not LimitSet.objects.exists()


def test_a_limit_of_the_deployment_is_refused_to_a_person(operator_client: Client, alice: Any) -> None:
    data = {"scope": "user", "user": alice.pk, "enabled": "unknown", "max_concurrent_turns": 5}
    assert "max_concurrent_turns" in errors_of(operator_client.post(reverse(ADD_LIMITS), data))
    assert not LimitSet.objects.exists()


def test_a_token_is_revoked_by_deleting_it(operator_client: Client, alice: Any, now: Any) -> None:
    token, _ = token_create(user=alice, name="script", scopes=["runs:read"], now=now)
    page = reverse("admin:accounts_apitoken_delete", args=[token.public_id])
    assert "refused from now on" in operator_client.get(page).content.decode()
    assert operator_client.post(page, {"post": "yes"}).status_code == 302
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("begins", ["24", "40", "5f", "ab"])
def test_a_token_has_its_page_however_its_id_begins(operator_client: Client, alice: Any, now: Any, begins: str) -> None:
    """The admin reads `_24` in an address as a quoted `$`; one id in forty begins like that."""
    token, _ = token_create(user=alice, name="script", scopes=["runs:read"], now=now)
    ApiToken.objects.filter(pk=token.pk).update(public_id=f"tok_{begins}{'0' * 22}")
    page = reverse("admin:accounts_apitoken_delete", args=[f"tok_{begins}{'0' * 22}"])
    assert operator_client.post(page, {"post": "yes"}).status_code == 302
    assert not ApiToken.objects.exists()


def test_the_global_stop_is_one_switch_with_a_reason(operator_client: Client, olivia: Any) -> None:
    page = reverse("admin:accounts_globalstop_change", args=[1])
    assert operator_client.get(reverse("admin:accounts_globalstop_changelist")).headers["Location"] == page
    assert operator_client.post(page, {"on": "on", "reason": "moving house"}).status_code == 302
    stop = global_stop()
    assert stop is not None
    assert (stop.reason, stop.by, GlobalStop.objects.get().changed_by) == ("moving house", olivia.called, olivia)
    operator_client.post(page, {"reason": ""})
    assert global_stop() is None


def test_a_second_factor_that_was_lost_is_removed_by_who_may_set_the_password(
    operator_client: Client, alice: Any, make_user: Any
) -> None:
    act = reverse("admin:accounts_user_act", args=[alice.pk, "drop_second_factor"])
    Authenticator.objects.create(user=alice, type="totp", data={"secret": "sealed"})
    assert "Remove second factor" in operator_client.get(page_of(alice)).content.decode()
    helper = make_user(is_staff=True)
    helper.user_permissions.set(Permission.objects.filter(codename__in=("view_user", "change_user")))
    theirs = Client()
    theirs.force_login(helper)
    olivias = User.objects.get(email="olivia@example.com")
    Authenticator.objects.create(user=olivias, type="totp", data={"secret": "sealed"})
    theirs.post(reverse("admin:accounts_user_act", args=[olivias.pk, "drop_second_factor"]))
    assert Authenticator.objects.filter(user=olivias).exists()
    operator_client.post(act)
    assert not Authenticator.objects.filter(user=alice).exists()
    assert "Remove second factor" not in operator_client.get(page_of(alice)).content.decode()
    assert [act for act, _, _ in log("user")] == ["user.second_factor"]
