"""Admin pages of conversations, turns and worker hosts."""

from chats.admin.conversations import ConversationAdmin
from chats.admin.hosts import WorkerHostAdmin
from chats.admin.turns import TurnAdmin

__all__ = ["ConversationAdmin", "TurnAdmin", "WorkerHostAdmin"]
