"""Writes of projects and of the policy that binds them."""

from projects.services.policies import policy_planned, policy_set
from projects.services.projects import (
    project_archive,
    project_create,
    project_delete,
    project_edit,
)

__all__ = [
    "policy_planned",
    "policy_set",
    "project_archive",
    "project_create",
    "project_delete",
    "project_edit",
]
