"""The product's settings with a plain cluster: what somebody would write who gives each run a task of its own."""

from config import env
from config.settings import *  # noqa: F403

Q_CLUSTER = {
    "name": "quotidian",  # where the bench puts its tasks
    "workers": int(env.raw("BENCH_WORKERS") or 8),
    "timeout": 60,
    "retry": 90,
    "poll": 0.1,
    "save_limit": -1,
    "orm": "default",
    "log_level": "WARNING",
}
SILENCED_SYSTEM_CHECKS = [
    "quotidian.E001",
    "quotidian.E002",
    "quotidian.E003",
]  # its tasks are short: no ladder to keep
