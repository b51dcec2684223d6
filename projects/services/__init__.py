"""Writes of projects and of the policy that binds them."""

from projects.services.policies import policy_set
from projects.services.projects import (
    project_archive,
    project_create,
    project_delete,
    project_edit,
    project_rename,
)

__all__ = [
    "policy_set",
    "project_archive",
    "project_create",
    "project_delete",
    "project_edit",
    "project_rename",
]
