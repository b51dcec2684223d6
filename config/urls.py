"""Every address of the product; each app keeps its own under its faces."""

from django.contrib import admin
from django.urls import path

urlpatterns = [path("admin/", admin.site.urls)]
