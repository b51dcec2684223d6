"""What the queue's workers call: a plain function, since the queue redelivers coroutines for ever."""

import asyncio

from django.conf import settings

from chats.engine.drain import drain as drain_queue


def drain() -> None:
    """Work the queue of turns from this process until it is empty; returns nothing to store."""
    asyncio.run(drain_queue(host=settings.WORKER_HOST))
