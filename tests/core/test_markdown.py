"""Text that nobody trusts, as HTML that is safe."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from core.markdown import first_line, render

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<iframe src=https://example.org></iframe>",
    "<a href='javascript:alert(1)'>x</a>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:msgbox)",
    "![x](javascript:alert(1))",
    "<style>*{display:none}</style>",
    "<form action=/accounts/logout/><button>x</button></form>",
    "<p style='position:fixed'>x</p>",
    "<math><mtext></p><script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "`<script>`",
    "```html\n<script>alert(1)</script>\n```",
    "<!--<script>-->",
    "x\x00y",
    "[a](https://example.org \"t' onclick='x\")",
]


class Parts(HTMLParser):
    """Collects every tag and attribute as a browser would see them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_acts_or_loads_survives(text: str):
    """quality.md, Security: text"""
    parts = Parts(render(text))
    assert parts.tags <= {"p", "a", "code", "pre", "em", "strong", "br"}
    for name, value in parts.attributes:
        assert name in ("href", "title", "rel")
        assert name != "href" or value.startswith(("http:", "https:", "mailto:"))


def test_a_remote_image_becomes_a_link():
    html = render("![the sea](https://example.org/sea.png)")
    assert '<a href="https://example.org/sea.png" rel="noopener nofollow">the sea</a>' in html


def test_a_link_passes_on_no_credit_and_no_window():
    assert 'rel="noopener nofollow"' in render("[there](https://example.org)")


def test_headings_begin_below_the_title_of_the_page_and_skip_no_level():
    assert re.findall(r"<(h\d)>", render("# One\n\n#### Two\n\n# Three")) == ["h2", "h3", "h2"]


def test_tables_lists_and_code_are_kept():
    html = render("- a\n\n| x |\n|---|\n| 1 |\n\n```\nx < 1\n```")
    assert "<li>a</li>" in html
    assert "<td>1</td>" in html
    assert "<code>x &lt; 1\n</code>" in html


def test_the_first_line_is_plain_and_ends_at_a_word():
    assert first_line("\n# **Two** of nine\nmore") == "Two of nine"
    assert first_line("word " * 100, 20) == "word word word word…"
    assert first_line("\n \n") == ""
