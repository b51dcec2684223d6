"""`manage.py add_provider KIND NAME --base-url URL [--key-env VAR] --model M [--agent NAME]`."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from agents.models import ProviderKind
from agents.services import provider_add
from core.clock import now
from core.commands import ProductCommand


class Command(ProductCommand):
    help = "Add a provider, a model and, if wanted, a shared agent on it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kind", choices=ProviderKind.values)
        parser.add_argument("name", help="What operators call the provider.")
        parser.add_argument("--base-url", default="", help="Its address; needed for OpenAI-compatible ones.")
        parser.add_argument("--key-env", default="", help="The environment variable that holds its key.")
        parser.add_argument("--model", required=True, help="The model, as the provider calls it.")
        parser.add_argument("--agent", help="Make a shared agent of this name on the model, or move it there.")

    def act(self, **options: Any) -> str:
        provider, model, agent = provider_add(
            kind=options["kind"],
            name=options["name"],
            base_url=options["base_url"],
            key_env=options["key_env"],
            model=options["model"],
            agent=options["agent"],
            now=now(),
        )
        lines = [f"Provider {provider.public_id} {provider.name}", f"Model {model.public_id} {model.name}"]
        if agent is not None:
            lines.append(f"Agent {agent.public_id} {agent.name}")
        if options["key_env"] and not settings.READ_ENVIRONMENT(options["key_env"]):
            self.stderr.write(f"{options['key_env']} is not set here: the worker needs it.")
        return "\n".join(lines)
