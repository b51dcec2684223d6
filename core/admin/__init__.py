"""What the admin pages of all apps share."""

from core.admin.acting import act_on
from core.admin.base import OperatorAdmin, OperatorForm, ReadOnlyAdmin, inherits_when_empty
from core.admin.noting import Noting
from core.admin.showing import link, page_of, shown_link, stamp, tag, text_block, unbroken

__all__ = [
    "Noting",
    "OperatorAdmin",
    "OperatorForm",
    "ReadOnlyAdmin",
    "act_on",
    "inherits_when_empty",
    "link",
    "page_of",
    "shown_link",
    "stamp",
    "tag",
    "text_block",
    "unbroken",
]
