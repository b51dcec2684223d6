"""Public identifiers: opaque, url-safe, not guessable."""

import secrets


def new_id(prefix: str) -> str:
    """Return `<prefix>_` and 24 random hexadecimal digits (96 bits); safe in URLs, element ids and file names."""
    return f"{prefix}_{secrets.token_hex(12)}"
