from django.apps import AppConfig


class ChatsConfig(AppConfig):
    name = "chats"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from chats.outputs import conversations_export, usage_export
        from chats.selectors.conversations import conversations_count
        from chats.services.erasing import ERASERS, agents_used
        from chats.services.filing import ConversationFiling
        from chats.services.suspending import TurnWork, running_turns
        from core import registry

        registry.register_project_holder("conversations", ConversationFiling())
        registry.register_account_work("turns", TurnWork())
        registry.register_owned("running_turns", running_turns)
        registry.register_owned("conversations", conversations_count)
        registry.register_exporter("conversations", conversations_export)
        registry.register_exporter("usage", usage_export)
        registry.register_agents_used("turns", agents_used)
        for table, erase in ERASERS.items():
            registry.register_eraser(table, erase)
