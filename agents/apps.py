from django.apps import AppConfig


class AgentsConfig(AppConfig):
    name = "agents"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from agents.services.erasing import ERASERS
        from core.registry import register_eraser

        for table, erase in ERASERS.items():
            register_eraser(table, erase)
