"""What the admin pages of all apps share."""

from core.admin.acting import act_on
from core.admin.base import OperatorAdmin, OperatorForm, ReadOnlyAdmin
from core.admin.showing import link, page_of, shown_link, stamp, text_block

__all__ = [
    "OperatorAdmin",
    "OperatorForm",
    "ReadOnlyAdmin",
    "act_on",
    "link",
    "page_of",
    "shown_link",
    "stamp",
    "text_block",
]
