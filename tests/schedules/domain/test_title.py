"""What an occurrence's conversation is called, and the words its prompt may ask for (B05, B83, B84). Pure."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
import regex

from schedules.domain.title import MOST, asked_for, fill, moment_words, title_of, variables

LA = ZoneInfo("America/Los_Angeles")


def test_the_title_has_the_occurrences_local_date_and_time():
    assert title_of("News", datetime(2026, 6, 1, 8, 0, tzinfo=UTC), ZoneInfo("Asia/Tokyo")) == "News · 2026-06-01 17:00"


def test_times_that_come_twice_are_told_apart_by_their_offset():
    """B05: hourly at :00 on 1 November 2026 in Los Angeles is three conversations with three titles."""
    titles = [title_of("News", datetime(2026, 11, 1, hour, tzinfo=UTC), LA) for hour in (8, 9, 10)]
    assert titles == ["News · 2026-11-01 01:00 -0700", "News · 2026-11-01 01:00 -0800", "News · 2026-11-01 02:00"]


@pytest.mark.parametrize("letter", ["a", "👨‍👩‍👧‍👦", "م", "क्षि", "é"])
def test_a_title_fits_its_column_whatever_the_name_and_is_cut_between_characters(letter):
    """B83: the name may fill its column to the last code point; the time is what must stay readable."""
    name = (letter * 1000)[: 1000 // len(letter) * len(letter)]
    title = title_of(name, datetime(2026, 11, 1, 8, 0, tzinfo=UTC), LA)
    assert len(title) <= MOST
    assert title.endswith(" · 2026-11-01 01:00 -0700")
    kept = title.removesuffix("… · 2026-11-01 01:00 -0700")
    assert set(regex.findall(r"\X", kept)) == {letter}
    assert name.startswith(kept)


def test_variables_are_those_of_the_slot_in_its_zone():
    """B84: 05:30 in Tokyo on 16 April is that date, although it is the 15th in UTC."""
    at = datetime(2026, 4, 15, 20, 30, tzinfo=UTC)
    assert variables(at, ZoneInfo("Asia/Tokyo")) == {"date": "2026-04-16", "time": "05:30", "weekday": "Thursday"}
    assert moment_words(at, ZoneInfo("Asia/Tokyo")) == "Thu 16 April 2026, 05:30"


def test_known_variables_are_filled_and_unknown_ones_stay_as_typed():
    prompt = "On {{date}}, {{ weekday }}: {{name}} {{ DATE }} {date} {{"
    assert asked_for(prompt) == {"date", "weekday"}
    assert fill(prompt, {"date": "2026-04-16", "weekday": "Thursday"}) == (
        "On 2026-04-16, Thursday: {{name}} {{ DATE }} {date} {{"
    )


def test_what_was_filled_in_is_not_filled_again():
    """An earlier answer that contains a variable's name is text, whoever wrote it."""
    assert fill("{{last_answer}}", {"last_answer": "{{date}}", "date": "2026-04-16"}) == "{{date}}"
