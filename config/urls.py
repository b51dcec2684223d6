"""Every address of the product; each app keeps its own under its faces."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from config.documents import Docs, Schema
from config.health import healthz, readyz

admin.autodiscover()

api: list[URLPattern | URLResolver] = [
    path("", include("accounts.api.urls")),
    path("", include("projects.api.urls")),
    path("", include("agents.api.urls")),
    path("", include("chats.api.urls")),
    path("", include("schedules.api.urls")),
    path("schema/", Schema.as_view(), name="api-schema"),
    path("docs/", Docs.as_view(), name="api-docs"),
]

urlpatterns = [
    path("api/v1/", include(api)),
    path("", include("accounts.panel.urls")),
    path("", include("projects.panel.urls")),
    path("", include("chats.panel.urls")),
    path("", include("schedules.panel.urls")),
    path("accounts/", include("allauth.urls")),
    path("admin/", admin.site.urls),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
]

handler400 = "core.http.bad_request"
handler403 = "core.http.page_forbidden"
handler404 = "core.http.page_not_found"
handler500 = "core.http.server_error"
