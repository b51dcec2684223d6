from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from accounts.outputs import account_export
        from accounts.selectors.tokens import tokens_count
        from accounts.services.audit import audit
        from accounts.services.forgetting import ERASERS
        from core.registry import register_audit, register_eraser, register_exporter, register_owned

        register_audit(audit)
        register_owned("tokens", tokens_count)
        register_exporter("account", account_export)
        for table, erase in ERASERS.items():
            register_eraser(table, erase)
