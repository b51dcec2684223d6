"""Addresses of the account in the API."""

from django.urls import path

from accounts.api.views import Me, Tokens

urlpatterns = [
    path("me", Me.as_view({"get": "retrieve", "patch": "partial_update"}), name="api-me"),
    path("tokens", Tokens.as_view({"get": "list", "post": "create"}), name="api-tokens"),
    path("tokens/<str:id>", Tokens.as_view({"delete": "destroy"}), name="api-token"),
]
