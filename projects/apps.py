from django.apps import AppConfig


class ProjectsConfig(AppConfig):
    name = "projects"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from core.registry import register_eraser, register_exporter, register_owned
        from projects.outputs import projects_export
        from projects.selectors import projects_count
        from projects.services.erasing import ERASERS

        register_owned("projects", projects_count)
        register_exporter("projects", projects_export)
        for table, erase in ERASERS.items():
            register_eraser(table, erase)
