"""Makes the operators' site the default one, so that every `admin.py` registers with it.

The address table discovers them: a process without addresses (the worker) does without admin, forms and templates,
20 MB of it in every process.
"""

from __future__ import annotations

from django.contrib.admin.apps import SimpleAdminConfig


class OperatorAdminConfig(SimpleAdminConfig):
    """Django's admin with the product's own site: sign-in, zone, and what packages register."""

    default_site = "core.admin.site.OperatorSite"
