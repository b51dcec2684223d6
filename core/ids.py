"""Public identifiers: opaque, url-safe, not guessable."""

import secrets

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"


def new_id(prefix: str) -> str:
    """Return `<prefix>_` and 24 random characters (124 bits); safe in URLs, element ids and file names."""
    return f"{prefix}_" + "".join(secrets.choice(_ALPHABET) for _ in range(24))
