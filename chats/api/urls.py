"""Addresses of conversations in the API."""

from django.urls import path

from chats.api.usage import Usage
from chats.api.views import Conversations, Messages, Turns

urlpatterns = [
    path("conversations", Conversations.as_view({"get": "list", "post": "create"}), name="api-conversations"),
    path(
        "conversations/<str:id>",
        Conversations.as_view({"get": "retrieve", "patch": "partial_update", "delete": "destroy"}),
        name="api-conversation",
    ),
    path("conversations/<str:id>/messages", Messages.as_view({"get": "list"}), name="api-messages"),
    path("conversations/<str:id>/turns", Turns.as_view({"get": "list"}), name="api-turns"),
    path("conversations/<str:id>/turns/<str:turn>/stop", Turns.as_view({"post": "stop"}), name="api-turn-stop"),
    path("usage", Usage.as_view({"get": "retrieve"}), name="api-usage"),
]
