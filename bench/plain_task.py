"""One generation as a task of its own: the same library, the same provider, a blocking call."""

from __future__ import annotations


def generate(port: int, prompt: str) -> None:
    """Ask the fake provider on `port` and stream the answer to its end."""
    import asyncio

    from agents.runtime.generate import aclose
    from agents.runtime.generate import generate as ask
    from agents.runtime.types import ModelSpec

    spec = ModelSpec(
        kind="openai", model="ok", base_url=f"http://127.0.0.1:{port}/v1", api_key="none", instructions="",
        temperature=None, max_output_tokens=None, context_window=None, request_timeout=60,
    )  # fmt: skip

    async def once() -> None:
        await ask(spec, [], prompt, on_text=lambda piece: None)
        await aclose()

    asyncio.run(once())
