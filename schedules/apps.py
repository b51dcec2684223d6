from django.apps import AppConfig


class SchedulesConfig(AppConfig):
    name = "schedules"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from core.registry import (
            register_fires,
            register_origin,
            register_project_holder,
            register_run_ids,
            register_used,
        )
        from schedules.selectors.lists import may_be_fired
        from schedules.services.filing import ScheduleFiling, run_ids, used_schedules
        from schedules.services.origin import ScheduleOrigin

        register_origin("schedule", ScheduleOrigin())
        register_project_holder("schedules", ScheduleFiling())
        register_run_ids(run_ids)
        register_fires(may_be_fired)
        register_used("used_schedules", used_schedules)
