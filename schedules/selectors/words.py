"""A cadence in one person's words."""

from __future__ import annotations

from django.utils.translation import gettext

from accounts.models import User
from schedules.domain.cadence import Cadence
from schedules.domain.describe import describe


def cadence_words(cadence: Cadence, zone: str, reader: User) -> str:
    """Return the sentence of `cadence` by the reader's locale, clock and first weekday. Raises CadenceError."""
    return describe(
        cadence,
        zone,
        locale=reader.locale,
        clock=int(reader.clock),
        first_weekday=reader.first_weekday,
        translate=gettext,
    )
