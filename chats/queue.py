"""The only room that knows django-q2: hints that wake drains, and what the queue looks like (R22)."""

from __future__ import annotations

import logging

from django.conf import settings

logger = logging.getLogger(__name__)

# One hint wakes one process, whose drain then works and lingers: hints beyond the processes would find none free.
# Two wait in any case, so that turns queued while the only drain ends wake the next one.
MOST_WAITING = 2


def hint_drain() -> bool:
    """Hint the cluster that turns are queued; return whether a hint was sent: none is when enough wait already.

    A hint carries nothing but the name of the task. A broker that is away loses a hint, never a run.
    """
    from django_q.brokers import get_broker
    from django_q.tasks import async_task

    try:
        broker = get_broker()
        if broker.queue_size() >= max(MOST_WAITING, settings.WORKER_PROCESSES):
            return False
        async_task("chats.tasks.drain", broker=broker, task_name="drain")
    except Exception:
        logger.warning("the queue took no hint", exc_info=True)
        return False
    return True


def waiting_hints() -> int | None:
    """Return how many hints wait, or None when the broker does not answer."""
    from django_q.brokers import get_broker

    try:
        return int(get_broker().queue_size())
    except Exception:  # noqa: BLE001 - as above
        return None


def run_cluster(*, processes: int) -> None:
    """Run django-q2's cluster in this process until it ends; SIGTERM to this process alone stops it in about 2 s.

    Call it in a process group of its own: killing that group leaves no orphan of the sentinel behind.
    """
    from django_q.cluster import Cluster
    from django_q.conf import Conf

    Conf.WORKERS = processes
    cluster = Cluster()
    cluster.start()
    while cluster.sentinel.is_alive():
        cluster.sentinel.join(0.5)
