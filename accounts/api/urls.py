"""Addresses of the account in the API."""

from django.urls import path

from accounts.api.deletion import Deletion
from accounts.api.views import Audit, Me, Tokens

urlpatterns = [
    path("me", Me.as_view({"get": "retrieve", "patch": "partial_update"}), name="api-me"),
    path(
        "me/deletion",
        Deletion.as_view({"get": "retrieve", "post": "ask", "delete": "cancel"}),
        name="api-deletion",
    ),
    path("me/deletion/hasten", Deletion.as_view({"post": "hasten"}), name="api-deletion-hasten"),
    path("me/export", Deletion.as_view({"get": "export"}), name="api-export"),
    path("audit", Audit.as_view({"get": "list"}), name="api-audit"),
    path("tokens", Tokens.as_view({"get": "list", "post": "create"}), name="api-tokens"),
    path("tokens/<str:id>", Tokens.as_view({"delete": "destroy"}), name="api-token"),
]
