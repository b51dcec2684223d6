"""Addresses of projects and limits in the API."""

from django.urls import path

from projects.api.views import LimitsOfMine, Projects

urlpatterns = [
    path("projects", Projects.as_view({"get": "list", "post": "create"}), name="api-projects"),
    path(
        "projects/<str:id>",
        Projects.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
        name="api-project",
    ),
    path("limits", LimitsOfMine.as_view({"get": "retrieve"}), name="api-limits"),
]
