"""What faces take in: the wire body of a schedule, and the dialog's form that becomes one."""

from schedules.inputs.form import body_to_form, field_of_path, form_to_body
from schedules.inputs.schedule import schedule_input

__all__ = ["body_to_form", "field_of_path", "form_to_body", "schedule_input"]
