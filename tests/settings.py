"""The product's settings with what only tests need: a data folder of their own, and cheap passwords.

`DATABASE_URL` chooses the database as it does for the product; without it SQLite on a FILE. Two runs at the same time
never meet: the data folder is temporary, and PostgreSQL's test database carries the number of this run.
"""

import os
import tempfile

if "QUOTIDIAN_TEST_ID" not in os.environ:  # workers of pytest-xdist inherit both from the process that starts them
    os.environ["QUOTIDIAN_TEST_ID"] = str(os.getpid())
    os.environ["QUOTIDIAN_DATA_DIR"] = tempfile.mkdtemp(prefix="quotidian-test-")

from config.settings import *  # noqa: F403
from config.settings import DATABASES, STORAGES

if DATABASES["default"]["ENGINE"].endswith("postgresql"):
    _name = DATABASES["default"]["NAME"]
    DATABASES["default"]["TEST"] = {"NAME": f"test_{_name}_{os.environ['QUOTIDIAN_TEST_ID']}"}

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {**STORAGES, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"

# Knox's migrations make the table of its own token model although ours replaces it, and a table Django does not know
# of cannot be truncated after a test on PostgreSQL.
MIGRATION_MODULES = {"knox": None}
