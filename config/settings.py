"""All settings. Works with no environment at all; what can be set is listed in `config/env.py`."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from chats.domain.states import TurnStatus
from config import env
from schedules.domain.states import RunStatus

BASE_DIR = Path(__file__).resolve().parent.parent
APP_ENV = env.read("APP_ENV")
PRODUCTION = APP_ENV == "production"
DATA_DIR = Path(env.read("QUOTIDIAN_DATA_DIR") or BASE_DIR / "var").resolve()
DATA_DIR.mkdir(parents=True, exist_ok=True)


def _kept_secret(name: str, file: str) -> str:
    """Return the variable, else the value generated once into the data folder (mode 0600)."""
    if value := env.read(name):
        return value
    path = DATA_DIR / file
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        # Another process of the same start may be writing it this instant: a link appears whole or not at all.
        return path.read_text().strip()
    with os.fdopen(handle, "w") as out:
        out.write(secrets.token_urlsafe(48))
    return path.read_text().strip()


if PRODUCTION:
    for _name in ("SECRET_KEY", "ALLOWED_HOSTS", "DATABASE_URL"):
        if not env.read(_name):
            raise env.EnvError(f"set {_name}: APP_ENV=production does not start without it")

SECRET_KEY = _kept_secret("SECRET_KEY", "secret-key")
ENCRYPTION_KEY = _kept_secret("ENCRYPTION_KEY", "encryption-key")
READ_ENVIRONMENT = env.raw  # how a provider's key that an operator named (`key_env`) is read
DEBUG = False
ALLOWED_HOSTS = env.read("ALLOWED_HOSTS") or ["localhost", "127.0.0.1", "[::1]"]
CSRF_TRUSTED_ORIGINS = env.read("CSRF_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "core.admin_app.OperatorAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.usersessions",
    "rest_framework",
    "knox",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_filters",
    "django_htmx",
    "template_partials",
    "django_q",
    "core",
    "accounts",
    "projects",
    "agents",
    "chats",
    "schedules",
    "config",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "core.asking.AskingMiddleware",
    "core.http.SecurityHeadersMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

DATABASES = {"default": env.database(env.read("DATABASE_URL"), DATA_DIR)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ATOMIC_REQUESTS = False
CACHES = {
    "default": {
        "BACKEND": "config.cache.ForgivingRedisCache",
        "LOCATION": env.read("REDIS_URL"),
        "OPTIONS": {"socket_connect_timeout": 1, "socket_timeout": 1},
    }
    if env.read("REDIS_URL")
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
}

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
     "OPTIONS": {"user_attributes": ["email", "display_name"]}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]  # fmt: skip
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_ON_GET = False
ACCOUNT_ADAPTER = "accounts.adapter.AccountAdapter"
# A wrong password counts per address and per account; counted in Redis for all processes, else in each.
ACCOUNT_RATE_LIMITS = {"login": "30/m/ip", "login_failed": "10/m/ip,5/300s/key", "reset_password": "20/m/ip,5/m/key"}
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
TRUSTED_PROXIES = env.read("TRUSTED_PROXIES")
SIGN_UP = env.read("SIGN_UP")
MFA_ADAPTER = "accounts.adapter.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_TOTP_ISSUER = "Quotidian"
MFA_TOTP_TOLERANCE = 1  # a code of the last half minute still counts: telephones' clocks err
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/panel/"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
_MAIL = env.mail(env.read("EMAIL_URL"))
EMAIL_BACKEND = _MAIL["EMAIL_BACKEND"]
EMAIL_HOST, EMAIL_PORT = _MAIL["EMAIL_HOST"], _MAIL["EMAIL_PORT"]
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _MAIL["EMAIL_HOST_USER"], _MAIL["EMAIL_HOST_PASSWORD"]
EMAIL_USE_TLS, EMAIL_USE_SSL = _MAIL["EMAIL_USE_TLS"], _MAIL["EMAIL_USE_SSL"]
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.read("EMAIL_FROM")

SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PRODUCTION
CSRF_FAILURE_VIEW = "core.http.csrf_failure"
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
FRAME_ANCESTORS = env.read("FRAME_ANCESTORS")
API_REQUESTS_PER_MINUTE = env.read("API_REQUESTS_PER_MINUTE")
SECURE_HSTS_SECONDS = 31_536_000 if PRODUCTION else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = PRODUCTION
SECURE_SSL_REDIRECT = False
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if PRODUCTION else None

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True
LOCALE_PATHS = [BASE_DIR / "locale"]
# TLS ends at the proxy, which redirects; e-mails are unique whatever their case (a constraint on Lower(email)).
SILENCED_SYSTEM_CHECKS = ["security.W008", "auth.W004"]

STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
# Measured: with both a first start takes 12 s for static files instead of 43; pages name hashed files only.
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = [
    "jpg", "jpeg", "png", "gif", "webp", "zip", "gz", "tgz", "bz2", "xz", "br", "woff", "woff2", "map",
]  # fmt: skip

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.api.authentication.TokenAuthentication",
        "accounts.api.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["accounts.api.permissions.HasScope"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["core.http.StrictJSONParser"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "core.http.JSONOnly",
    "DEFAULT_THROTTLE_CLASSES": ["accounts.api.throttling.TokenThrottle"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_PAGINATION_CLASS": "core.paging.Cursor",
    "EXCEPTION_HANDLER": "core.http.problem_handler",
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Quotidian",
    "DESCRIPTION": "AI chats on a schedule: schedules, runs, conversations.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "TurnStatus": [status.value for status in TurnStatus],
        "RunStatus": [status.value for status in RunStatus],
    },
}
KNOX_TOKEN_MODEL = "accounts.ApiToken"
REST_KNOX = {"AUTH_HEADER_PREFIX": "Bearer", "TOKEN_TTL": None, "TOKEN_MODEL": "accounts.ApiToken"}

# Execution. The three ladders of R26 are checked at start-up (config/checks.py).
GLOBAL_STOP = env.read("GLOBAL_STOP")
GLOBAL_STOP_REASON = env.read("GLOBAL_STOP_REASON")
MAX_CONCURRENT_TURNS = env.read("MAX_CONCURRENT_TURNS")
MAX_CONCURRENT_PER_OWNER = env.read("MAX_CONCURRENT_PER_OWNER")
MAX_INTERACTIVE_TURNS = env.read("MAX_INTERACTIVE_TURNS")
CONNECT_SECONDS = 10
FIRST_TOKEN_SECONDS = 60
DEFAULT_DEADLINE_SECONDS = 600
MAX_DEADLINE_SECONDS = env.read("MAX_DEADLINE_SECONDS")
LEASE_SECONDS = 60
HEARTBEAT_SECONDS = 15
DRAIN_PERIOD_SECONDS = 300
QUEUE_TIMEOUT_SECONDS = 7_200
DRAIN_SECONDS = env.read("DRAIN_SECONDS")
WORKER_HOST = "none"  # set by the worker command for the processes it forks
FIRE_SECONDS = env.read("FIRE_SECONDS")
SCHEDULE_SPREAD_SECONDS = env.read("SCHEDULE_SPREAD_SECONDS")
DELETION_GRACE_DAYS = env.read("DELETION_GRACE_DAYS")
STARTING_CREDIT = env.read("STARTING_CREDIT")
RUN_RETENTION_DAYS = env.read("RUN_RETENTION_DAYS")
WORKER_PROCESSES = env.read("WORKER_PROCESSES")
LOCAL_MODEL = env.read("LOCAL_MODEL")
LOCAL_MODEL_LOG = env.read("LOCAL_MODEL_LOG")

# The queue carries hints only; why each value is so: spec engine facts, ADR 0003.
Q_CLUSTER = {
    "name": "quotidian",
    "workers": WORKER_PROCESSES,
    "recycle": 500,
    "timeout": QUEUE_TIMEOUT_SECONDS,
    "retry": QUEUE_TIMEOUT_SECONDS + 300,
    "queue_limit": 2,
    "bulk": 1,
    "poll": 0.1,
    "max_attempts": 1,
    "ack_failures": True,
    "save_limit": -1,
    "scheduler": False,
    "catch_up": False,
    "compress": False,
    "guard_cycle": 0.5,
    "label": "Queue of hints",
    "log_level": "WARNING",
}
if env.read("REDIS_URL"):
    Q_CLUSTER["redis"] = env.read("REDIS_URL")
else:
    Q_CLUSTER["orm"] = "default"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.read("LOG_LEVEL")},
    # One line per model call or queue task says nothing that the ledger does not say better.
    "loggers": {name: {"level": "WARNING"} for name in ("httpx", "httpx2", "django-q", "openai", "anthropic")},
}

from config.admin_settings import ADMIN_FOR_SUPERUSERS, ADMIN_LEFT_OUT, UNFOLD  # noqa: E402, F401
