"""Pages of a list without ever counting it: one row more than a page says whether there is a next one."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.core.paginator import Paginator
from django.http import HttpRequest
from unfold.paginator import InfinitePaginator
from unfold.views import ChangeList


class NextPaginator(InfinitePaginator):
    """For the pickers that page through a table: nothing is counted, the first empty page is the last."""

    template_name = "admin/pagination_next.html"


class _OnePage(Paginator):
    """Stands for the page that was read; its template knows previous and next only."""

    template_name = "admin/pagination_next.html"


class NextChangeList(ChangeList):
    """A list read by one query, whatever the size of its table."""

    has_next = False

    def get_results(self, request: HttpRequest) -> None:
        """Read one page. Raises IncorrectLookupParameters for a page number below one."""
        if self.page_num < 1:
            raise IncorrectLookupParameters
        start = (self.page_num - 1) * self.list_per_page
        rows: list[Any] = list(self.queryset[start : start + self.list_per_page + 1])
        self.has_next = len(rows) > self.list_per_page
        self.result_list = rows[: self.list_per_page]
        self.result_count = len(self.result_list)
        self.full_result_count = None
        self.show_full_result_count = False
        self.show_admin_actions = True
        self.can_show_all = False
        self.multi_page = False
        self.paginator = _OnePage(self.result_list, self.list_per_page)
