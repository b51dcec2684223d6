"""The group "Members" with the two permissions that new people get."""

from django.db import migrations

NAMES = {
    "use_schedules": "Can see schedules and keep them firing",
    "create_schedules": "Can create, edit, enable and run schedules",
}


def make(apps, schema_editor):
    content_types = apps.get_model("contenttypes", "ContentType")
    permissions = apps.get_model("auth", "Permission")
    groups = apps.get_model("auth", "Group")
    user_type, _ = content_types.objects.get_or_create(app_label="accounts", model="user")
    group, _ = groups.objects.get_or_create(name="Members")
    for codename, name in NAMES.items():
        # Permissions are otherwise made after all migrations have run; there the same row is found again.
        permission, _ = permissions.objects.get_or_create(
            content_type=user_type, codename=codename, defaults={"name": name}
        )
        group.permissions.add(permission)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [migrations.RunPython(make, migrations.RunPython.noop)]
