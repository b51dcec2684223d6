"""The addresses of schedules and runs, under `/api/v1/`."""

from typing import Any

from django.urls import path

from schedules.api.runs import Attempts, Runs
from schedules.api.schedules import ScheduleActs, Schedules

one: dict[str, Any] = {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}

urlpatterns = [
    path("schedules", Schedules.as_view({"get": "list", "post": "create"}), name="api-schedules"),
    path("schedules/preview", Schedules.as_view({"post": "preview"}), name="api-schedules-preview"),
    path("schedules/<str:id>", Schedules.as_view(one), name="api-schedule"),
    path("schedules/<str:id>/run", ScheduleActs.as_view({"post": "run"}), name="api-schedule-run"),
    path("schedules/<str:id>/fire", ScheduleActs.as_view({"post": "fire"}), name="api-schedule-fire"),
    path("schedules/<str:id>/pause", ScheduleActs.as_view({"post": "pause"}), name="api-schedule-pause"),
    path("schedules/<str:id>/resume", ScheduleActs.as_view({"post": "resume"}), name="api-schedule-resume"),
    path("schedules/<str:id>/skip-next", ScheduleActs.as_view({"post": "skip_next"}), name="api-schedule-skip-next"),
    path("schedules/<str:id>/runs", Runs.as_view({"get": "of_schedule"}), name="api-schedule-runs"),
    path("runs", Runs.as_view({"get": "list"}), name="api-runs"),
    path("runs/<str:id>", Runs.as_view({"get": "retrieve"}), name="api-run"),
    path("runs/<str:id>/stop", Runs.as_view({"post": "stop"}), name="api-run-stop"),
    path("runs/<str:id>/attempts", Attempts.as_view({"get": "list"}), name="api-run-attempts"),
]
