"""Admin pages of schedules, the ledger, project policies, and the first page."""

from schedules.admin.policies import ProjectPolicyAdmin
from schedules.admin.runs import RunAdmin
from schedules.admin.schedules import ScheduleAdmin

__all__ = ["ProjectPolicyAdmin", "RunAdmin", "ScheduleAdmin"]
