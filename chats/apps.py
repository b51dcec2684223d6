from django.apps import AppConfig


class ChatsConfig(AppConfig):
    name = "chats"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from chats.services.filing import ConversationFiling
        from core.registry import register_project_holder

        register_project_holder("conversations", ConversationFiling())
