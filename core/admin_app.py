"""Makes the operators' site the default one, so that every `admin.py` registers with it."""

from __future__ import annotations

from django.contrib.admin.apps import AdminConfig


class OperatorAdminConfig(AdminConfig):
    """Django's admin with the product's own site: sign-in, zone, and what packages register."""

    default_site = "core.admin.site.OperatorSite"
