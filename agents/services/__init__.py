"""Writes of providers, models and agents."""

from agents.services.providers import first_look_ensure, provider_add
from agents.services.secrets import provider_key_set

__all__ = ["first_look_ensure", "provider_add", "provider_key_set"]
