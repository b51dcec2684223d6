"""Admin pages of people, their tokens and what binds them."""

from accounts.admin.audit import AuditEntryAdmin
from accounts.admin.deletions import DeletionRequestAdmin
from accounts.admin.limits import LimitSetAdmin
from accounts.admin.notices import NoticeAdmin
from accounts.admin.people import GroupAdmin, UserAdmin
from accounts.admin.spend import CreditEntryAdmin, UsageEntryAdmin
from accounts.admin.stop import GlobalStopAdmin
from accounts.admin.tokens import ApiTokenAdmin

__all__ = [
    "ApiTokenAdmin",
    "AuditEntryAdmin",
    "CreditEntryAdmin",
    "DeletionRequestAdmin",
    "GlobalStopAdmin",
    "GroupAdmin",
    "LimitSetAdmin",
    "NoticeAdmin",
    "UsageEntryAdmin",
    "UserAdmin",
]
