"""Write the pages of the site that are not stored; mkdocs-gen-files runs this."""

from __future__ import annotations

import re
from pathlib import Path

import mkdocs_gen_files

from website.blocks import fill
from website.commands import command_sections
from website.public_names import public_modules

DOCS = Path(__file__).resolve().parents[1]
# Links out of docs/ lead nowhere in the site: the words stay.
_LEADS_OUT = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")


def _without_links_out(page: Path, text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        target = match[2].partition("#")[0]
        if not target or ":" in target or target.startswith("api/"):
            return match[0]
        path = (page.parent / target).resolve()
        is_in_site = path.is_relative_to(DOCS) and not path.is_dir()
        return match[0] if is_in_site else match[1]

    return _LEADS_OUT.sub(replace, text)


def _write(path: str, text: str) -> None:
    with mkdocs_gen_files.open(path, "w", encoding="utf-8") as file:
        file.write(text)


for page in DOCS.rglob("*.md"):
    text = page.read_text("utf-8")
    new = _without_links_out(page, fill(text))
    if page.name == "commands.md":
        new += "\n" + "\n".join(command_sections())
    if new != text:
        _write(page.relative_to(DOCS).as_posix(), new)
for module in public_modules():
    _write(f"api/{module}.md", f"# {module}\n\n::: {module}\n")
