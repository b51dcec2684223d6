"""Admin pages of people, their tokens and what binds them."""

from accounts.admin.limits import LimitSetAdmin
from accounts.admin.notices import NoticeAdmin
from accounts.admin.people import GroupAdmin, UserAdmin
from accounts.admin.stop import GlobalStopAdmin
from accounts.admin.tokens import ApiTokenAdmin

__all__ = ["ApiTokenAdmin", "GlobalStopAdmin", "GroupAdmin", "LimitSetAdmin", "NoticeAdmin", "UserAdmin"]
