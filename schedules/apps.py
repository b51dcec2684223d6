from django.apps import AppConfig


class SchedulesConfig(AppConfig):
    name = "schedules"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from core.registry import (
            register_agents_used,
            register_eraser,
            register_exporter,
            register_fires,
            register_origin,
            register_owned,
            register_project_holder,
            register_run_ids,
            register_schedule_names,
            register_used,
        )
        from schedules.outputs.export import schedules_export
        from schedules.selectors.lists import may_be_fired, names_of
        from schedules.services.erasing import ERASERS, agents_used, runs_count, schedules_count
        from schedules.services.filing import ScheduleFiling, run_ids, used_schedules
        from schedules.services.origin import ScheduleOrigin

        register_origin("schedule", ScheduleOrigin())
        register_project_holder("schedules", ScheduleFiling())
        register_run_ids(run_ids)
        register_schedule_names(names_of)
        register_fires(may_be_fired)
        register_used("used_schedules", used_schedules)
        register_owned("schedules", schedules_count)
        register_owned("runs", runs_count)
        register_exporter("schedules", schedules_export)
        register_agents_used("schedules", agents_used)
        for table, erase in ERASERS.items():
            register_eraser(table, erase)
