"""Admin pages of providers, models and agents."""

from agents.admin.agents import AgentAdmin
from agents.admin.models import ChatModelAdmin
from agents.admin.providers import ModelProviderAdmin

__all__ = ["AgentAdmin", "ChatModelAdmin", "ModelProviderAdmin"]
