"""What tests of turns ask for besides the cast."""

from tests.schedules.conftest import limit, policy

__all__ = ["limit", "policy"]
