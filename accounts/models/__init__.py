"""People, their tokens, the numbers and switches that bind them, what they are to be told, and what operators did."""

from accounts.models.audit import AppendOnly, AuditEntry, AuditSubject, PersonKey
from accounts.models.deletions import DeletionRequest
from accounts.models.limits import GlobalStop, LimitSet
from accounts.models.notices import IdempotencyKey, Notice
from accounts.models.people import SetupLink, User, UserManager, _user_id
from accounts.models.spend import CreditEntry, UsageEntry
from accounts.models.tokens import ApiToken, ApiTokenManager, _token_id

__all__ = [
    "ApiToken",
    "ApiTokenManager",
    "AppendOnly",
    "AuditEntry",
    "AuditSubject",
    "CreditEntry",
    "DeletionRequest",
    "GlobalStop",
    "IdempotencyKey",
    "LimitSet",
    "Notice",
    "PersonKey",
    "SetupLink",
    "UsageEntry",
    "User",
    "UserManager",
    "_token_id",
    "_user_id",
]
