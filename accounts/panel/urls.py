"""Pages of accounts beside those of allauth."""

from django.urls import path

from accounts.panel import views

app_name = "accounts"

urlpatterns = [
    path("", views.start, name="start"),
    path("setup/<str:token>", views.setup, name="setup"),
    path("theme", views.theme, name="theme"),
    path("settings/", views.preferences, name="settings"),
]
