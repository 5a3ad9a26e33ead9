"""Hooks of mkdocs: the reference of the modules, and links that leave docs/."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.build.api import public_modules

DOCS = Path(__file__).resolve().parents[1]


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add a page for each public module, made from its docstrings."""
    for name in public_modules():
        text = f"# {name}\n\n::: {name}\n"
        files.append(File.generated(config, f"api/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    """Return a page whose links out of docs/ are words, and modules have links."""
    folder = (DOCS / page.file.src_uri).parent

    def replace(match: re.Match[str]) -> str:
        path = (folder / match[2]).resolve()
        stays = path.is_relative_to(DOCS) and not path.is_dir()
        return match[0] if stays or ":" in match[2] else match[1]

    markdown = re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s#]+)[^)]*\)", replace, markdown)
    return re.sub(r"^## (roll_vec\S*)$", r"## [\1](api/\1.md)", markdown, flags=re.M)
