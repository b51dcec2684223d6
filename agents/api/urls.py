"""Addresses of agents in the API."""

from django.urls import path

from agents.api.views import Agents

urlpatterns = [
    path("agents", Agents.as_view({"get": "list"}), name="api-agents"),
    path("agents/<str:id>", Agents.as_view({"get": "retrieve"}), name="api-agent"),
]
