"""The audit log: rows that are only ever added, also past the ORM (triggers), and the names it knows people by."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import accounts.models.audit

TABLE = "accounts_auditentry"
# A later migration that has SQLite remake this table takes its triggers along: call `guard` again there.
SQLITE = [
    f"CREATE TRIGGER audit_{verb} BEFORE {verb} ON {TABLE} BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"
    for verb in ("UPDATE", "DELETE")
]
POSTGRESQL = [
    "CREATE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$",
    f"CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON {TABLE} "
    "FOR EACH ROW EXECUTE FUNCTION audit_append_only()",
]
LIFTED = {
    "sqlite": ["DROP TRIGGER IF EXISTS audit_UPDATE", "DROP TRIGGER IF EXISTS audit_DELETE"],
    "postgresql": [f"DROP TRIGGER IF EXISTS audit_append_only ON {TABLE}", "DROP FUNCTION IF EXISTS audit_append_only"],
}


def guard(apps, schema_editor):
    vendor = schema_editor.connection.vendor
    for statement in [*LIFTED[vendor], *{"sqlite": SQLITE, "postgresql": POSTGRESQL}[vendor]]:
        schema_editor.execute(statement)


def lift(apps, schema_editor):
    for statement in LIFTED[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_globalstop_began")]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=accounts.models.audit._entry_id, editable=False, max_length=40, unique=True
                    ),
                ),
                ("at", models.DateTimeField()),
                (
                    "act",
                    models.CharField(
                        help_text="Kind of thing and verb: limitset.changed, schedule.blocked.", max_length=60
                    ),
                ),
                (
                    "who",
                    models.CharField(
                        blank=True, help_text="Key of the person who acted; empty for commands.", max_length=40
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        choices=[(s, s) for s in ("admin", "panel", "api", "command", "system")], max_length=10
                    ),
                ),
                ("request_id", models.CharField(blank=True, max_length=64)),
                ("whom", models.CharField(blank=True, help_text="Key of the person whose it is.", max_length=40)),
                ("kind", models.CharField(blank=True, help_text="Kind of thing that was acted on.", max_length=40)),
                (
                    "subject",
                    models.CharField(blank=True, help_text="Its id, where it belongs to nobody.", max_length=40),
                ),
                ("before", models.JSONField(default=dict)),
                ("after", models.JSONField(default=dict)),
            ],
            options={
                "verbose_name_plural": "audit entries",
                "base_manager_name": "objects",
                "indexes": [
                    models.Index(fields=["at"], name="audit_at"),
                    models.Index(fields=["act", "-id"], name="audit_act"),
                    models.Index(fields=["source", "-id"], name="audit_source"),
                    models.Index(fields=["kind", "-id"], name="audit_kind"),
                    models.Index(fields=["who", "-id"], name="audit_who"),
                    models.Index(
                        condition=models.Q(("whom", ""), _negated=True), fields=["whom", "-id"], name="audit_whom"
                    ),
                    models.Index(
                        condition=models.Q(("subject", ""), _negated=True),
                        fields=["subject", "-id"],
                        name="audit_subject",
                    ),
                    models.Index(
                        condition=models.Q(("request_id", ""), _negated=True),
                        fields=["request_id"],
                        name="audit_request",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PersonKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "key",
                    models.CharField(
                        default=accounts.models.audit._person_key, editable=False, max_length=40, unique=True
                    ),
                ),
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="person_key",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="AuditSubject",
            fields=[
                (
                    "entry",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="of",
                        serialize=False,
                        to="accounts.auditentry",
                    ),
                ),
                ("public_id", models.CharField(max_length=40)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="subjects",
                        to="accounts.personkey",
                    ),
                ),
            ],
            options={"indexes": [models.Index(fields=["public_id"], name="auditsubject_id")]},
        ),
        migrations.RunPython(guard, lift),
    ]
