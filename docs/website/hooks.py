"""Hooks of mkdocs: the API reference in the navigation, and strict checks.

A message of this file is a warning of mkdocs, and so ends ``make docs`` with an error:

- a page looks different on GitHub: Python-Markdown reads other lists or tables in it
- a public name of roll_vec is not in the API reference
- a page loads a script, font or picture from another server
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.pages import Page

from website.public_names import public_modules, public_names

_log = logging.getLogger("mkdocs.hooks.roll_vec")
_FROM_ELSEWHERE = re.compile(
    r"<(?:script|img|iframe|source|video)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^>]*"
    r"|<link\b[^>]*\brel=[\"']?(?:stylesheet|preconnect|preload)\b[^>]*//[^>]*"
)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of the games and of the modules into the navigation."""
    assert config.nav is not None
    games = sorted(Path(config.docs_dir, "games").glob("[a-z]*.md"))
    modules = [{module: f"api/{module}.md"} for module in public_modules()]
    for section in config.nav:
        if "Games" in section:
            section["Games"] += [f"games/{page.name}" for page in games]
        elif "API" in section:
            section["API"] = [{"All modules": "api.md"}, *modules]
    return config


def on_page_content(html: str, *, page: Page, **_: Any) -> str:
    """Check that a page has the elements that it has on GitHub."""
    if not page.file.src_uri.startswith("api/") and page.markdown is not None:
        theirs = MarkdownIt("gfm-like", {"linkify": False}).render(page.markdown)
        for tag in ("li", "tr", "pre", "h2", "h3", "blockquote", "img", "summary"):
            ours, github = (
                len(re.findall(rf"<{tag}\b", text)) for text in (html, theirs)
            )
            if ours != github:
                message = "%s: %d <%s> in the site, %d on GitHub"
                _log.warning(message, page.file.src_uri, ours, tag, github)
    return html


def on_post_page(output: str, *, page: Page, **_: Any) -> str:
    """Check that nothing is fetched, and that a module's page has its names."""
    path = page.file.src_uri
    for match in _FROM_ELSEWHERE.finditer(output):
        _log.warning("%s is fetched from elsewhere: %s", path, match[0])
    if path.startswith("api/"):
        module = path.removeprefix("api/").removesuffix(".md")
        ids = {*re.findall(r'\bid="([^"]+)"', output)}
        for name in public_names(module):
            if f"{module}.{name}" not in ids:
                _log.warning("%s: no entry of %s", path, name)
    return output
