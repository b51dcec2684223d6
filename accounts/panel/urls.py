"""Pages of accounts beside those of allauth."""

from django.urls import path

from accounts.panel import access, deletion, views

app_name = "accounts"

urlpatterns = [
    path("", views.start, name="start"),
    path("setup/<str:token>", views.setup, name="setup"),
    path("theme", views.theme, name="theme"),
    path("settings/", views.preferences, name="settings"),
    path("settings/access/", access.access, name="access"),
    path("settings/access/tokens", access.token_make, name="token-make"),
    path("settings/access/tokens/<str:public_id>/revoke", access.token_end, name="token-end"),
    path("settings/access/sessions/<int:session_id>/end", access.sign_in_end, name="session-end"),
    path("settings/access/sessions/end", access.sign_ins_end, name="sessions-end"),
    path("settings/deletion/", deletion.page, name="deletion"),
    path("settings/deletion/request", deletion.request_it, name="deletion-request"),
    path("settings/deletion/cancel", deletion.cancel, name="deletion-cancel"),
    path("settings/deletion/hasten", deletion.hasten, name="deletion-hasten"),
    path("settings/deletion/export", deletion.export, name="deletion-export"),
]
