"""Redis as the shared cache, without which everything still works: it only counts requests and sign-in attempts."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.core.cache.backends import redis as django_redis
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)


def _or(answer: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Have a call that Redis does not take return `answer`."""

    def around(call: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(call)
        def forgiving(*args: Any, **kwargs: Any) -> Any:
            try:
                return call(*args, **kwargs)
            except RedisError as error:
                logger.warning("the cache does not answer: %s", error)
                return answer

        return forgiving

    return around


class ForgivingRedisCache(django_redis.RedisCache):
    """Django's Redis cache that is merely empty while Redis is away; what is written then is forgotten."""

    add = _or(True)(django_redis.RedisCache.add)
    set = _or(None)(django_redis.RedisCache.set)
    touch = _or(False)(django_redis.RedisCache.touch)
    delete = _or(False)(django_redis.RedisCache.delete)
    has_key = _or(False)(django_redis.RedisCache.has_key)
    set_many = _or([])(django_redis.RedisCache.set_many)
    delete_many = _or(None)(django_redis.RedisCache.delete_many)
    clear = _or(False)(django_redis.RedisCache.clear)

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        return _or(default)(super().get)(key, default, version)

    def get_many(self, keys: Any, version: int | None = None) -> dict[str, Any]:
        return dict(_or({})(super().get_many)(keys, version))

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Count on; raise ValueError as for a key that is not there while Redis is away."""
        counted = _or(None)(super().incr)(key, delta, version)
        if counted is None:
            raise ValueError("the cache does not answer")
        return int(counted)
