"""Markdown of models and people as safe HTML: nothing of it is trusted, nothing remote is loaded."""

from __future__ import annotations

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "th": {"align"}, "td": {"align"}}
_SCHEMES = {"http", "https", "mailto"}


def _image_as_link(tokens: list[Token], index: int, options: object, env: object) -> str:
    """Write an image as a link to it: a page never loads what a model points at."""
    token = tokens[index]
    link = Token("link_open", "a", 1, attrs={"href": str(token.attrs.get("src", ""))})
    text = Token("text", "", 0, content=token.content or str(token.attrs.get("src", "")))
    parts = [link, text, Token("link_close", "a", -1)]
    renderer, plain = RendererHTML(), MarkdownIt().options
    return (
        renderer.renderToken(parts, 0, plain, {})
        + renderer.text(parts, 1, plain, {})
        + renderer.renderToken(parts, 2, plain, {})
    )


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": True})
    parser.enable(["table", "strikethrough"])
    parser.renderer.rules["image"] = _image_as_link  # type: ignore[attr-defined]
    return parser


_PARSER = _parser()


def _level_headings(tokens: list[Token]) -> None:
    """Let headings begin below the page's own title and never skip a level."""
    level = 1
    for token in tokens:
        if token.type == "heading_open":
            level = min(max(int(token.tag[1]) + 1, 2), level + 1, 6)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{level}"


def render(text: str) -> str:
    """Return `text` as sanitised HTML: no raw HTML, images as links, links `rel="noopener nofollow"`."""
    tokens = _PARSER.parse(text)
    _level_headings(tokens)
    html = _PARSER.renderer.render(tokens, _PARSER.options, {})
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        link_rel="noopener nofollow",
    )


def first_line(text: str, most: int = 160) -> str:
    """Return the first line of `text` that says something, without its markup signs, shortened at a word."""
    for line in text.splitlines():
        plain = line.strip().lstrip("#>*-+ ").replace("**", "").replace("`", "").strip()
        if plain:
            if len(plain) <= most:
                return plain
            return plain[:most].rsplit(" ", 1)[0].rstrip(",;:") + "…"
    return ""
