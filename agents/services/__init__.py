"""Writes of providers, models and agents."""

from agents.services.providers import first_look_ensure, provider_add

__all__ = ["first_look_ensure", "provider_add"]
