"""Search that stays on indexes: ids and e-mails are looked up, words are sought among few rows only."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth import get_user_model
from django.db.models import Max, QuerySet
from django.db.models.functions import Lower
from django.http import HttpRequest

NEWEST = 10_000
MOST_FOUND = 1_000


class IndexedSearch:
    """Reads a search box: `run_abc` by id, `alice@example.com` by owner, other words in `search_text`.

    Words without an id or an owner beside them are sought among the newest 10,000 rows, so that no search reads a
    table of a million rows.
    """

    search_ids: ClassVar[dict[str, str]] = {}
    """Prefix of a public id (`run`) -> lookup of that id (`public_id`)."""
    search_owner: ClassVar[str] = ""
    """The field that holds the owner, or `pk` where the row is the person."""
    search_text: ClassVar[str] = ""
    """The column words are sought in."""

    def get_search_help(self) -> str:
        """Return what the box understands, for its hint."""
        parts = [f"{prefix}_… id" for prefix in self.search_ids]
        if self.search_owner:
            parts.append("the owner’s e-mail")
        if self.search_text:
            parts.append(f"words of the {self.search_text} (alone: among the newest {NEWEST:,})")
        return ", ".join(parts)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Return the rows that fit every part of `search_term`; nothing is listed twice."""
        words: list[str] = []
        narrowed = False
        for part in search_term.split():
            lookup = self.search_ids.get(part.split("_")[0]) if "_" in part else None
            if lookup:
                queryset, narrowed = queryset.filter(**{lookup: part}), True
            elif "@" in part and self.search_owner:
                people = get_user_model().objects.alias(low=Lower("email")).filter(low=part.lower())
                ids = list(people.values_list("pk", flat=True))
                queryset, narrowed = queryset.filter(**{f"{self.search_owner}__in": ids}), True
            else:
                words.append(part)
        if words:
            queryset = self._with_words(queryset, " ".join(words), narrowed)
        return queryset, False

    def _with_words(self, queryset: QuerySet[Any], text: str, narrowed: bool) -> QuerySet[Any]:
        if not self.search_text:
            return queryset.none()
        fits = {f"{self.search_text}__icontains": text}
        if narrowed:
            return queryset.filter(**fits)
        rows = queryset.model._default_manager
        newest = rows.aggregate(pk=Max("pk"))["pk"] or 0
        # Read by key alone: with the list's order beside it a database may walk the whole table in that order.
        found = rows.filter(pk__gt=newest - NEWEST, **fits).order_by("-pk").values_list("pk", flat=True)
        return queryset.filter(pk__in=list(found[:MOST_FOUND]))
