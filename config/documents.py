"""The OpenAPI document and the page that shows it."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

from core.http import policy


class Schema(SpectacularJSONAPIView):
    """The OpenAPI document of the API."""

    throttle_classes: list[Any] = []


class Docs(SpectacularSwaggerSplitView):
    """Swagger UI, served from here. Its style sheet draws with `data:` images, which no other page needs."""

    url_name = "api-schema"
    template_name = "api/docs.html"
    throttle_classes: list[Any] = []

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        response = super().get(request, *args, **kwargs)
        response["Content-Security-Policy"] = policy(img_src="'self' data:")
        return response
