"""The wire shapes of schedules and runs."""

from schedules.outputs.wire import attempt_out, run_out, schedule_out

__all__ = ["attempt_out", "run_out", "schedule_out"]
