"""``roll-vec webshop index``: store a shop in a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from roll_vec.cli._errors import argument_error
from roll_vec.cli._options import add_command, add_commands
from roll_vec.cli._tables import progress

_DESCRIPTION = """\
Make the catalogue of a shop from WebShop's files and store it in one file:
products, goals, title nouns and search index. An environment opens it in a
moment, -o products=FILE, and all processes of a machine share its memory.
"""

_EPILOG = """\
files are told apart by their names, as WebShop has them:
  items_human_ins*   instructions by people
  items_ins*         attributes, instructions
  *nouns*            nouns of titles by asin
  any other          the products, such as items_shuffle_1000.json
plain JSON or .json.gz; no file at all: the demo shop.

Rewards depend on which words of a title are nouns: from the file of them, else
by a rule. The command says which.

examples:
  roll-vec webshop index items_shuffle_1000.json items_ins_v2_1000.json \\
      --out shop
  roll-vec play roll_vec/WebShop-v0 -o products=shop
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    summary = "store shops of WebShop"
    text = "Store shops of roll_vec/WebShop-v0."
    inner = add_commands(commands, "webshop", summary, text)
    summary = "store a shop in a file"
    parser = add_command(inner, "index", _run, summary, _DESCRIPTION, _EPILOG)
    parser.option("FILES", "WebShop's files", nargs="*")
    for name, content in (
        ("attributes", "attributes and instructions"),
        ("human-instructions", "instructions by people"),
        ("title-nouns", "nouns of titles by asin"),
    ):
        parser.option(f"--{name}", f"file of {content}, whatever its name", "FILE")
    parser.option("--out", "where the shop is stored", "FILE", required=True)
    parser.flag("--force", "replace the shop that is stored there")
    text = "read the first N products alone (default: all)"
    parser.number("--num-products", text, 1)
    parser.flag(
        "--human-goals", "the goals are people's instructions, not choices of options"
    )
    parser.number("--catalog-seed", "seed of drawn prices and limits", 0, default=0)


def _run(arguments: argparse.Namespace) -> int:
    from roll_vec.envs.webshop import Catalogue
    from roll_vec.envs.webshop.storage import is_stored

    files = _files_by_keyword(arguments)
    if "products" in files and is_stored(files["products"]):
        text = f"{files['products']} is a stored shop already"
        raise argument_error("FILES", text)
    target = Path(arguments.out)
    if target.exists() and not arguments.force:
        text = f"{target} is there already; --force replaces a stored shop"
        raise argument_error("--out", text)
    options = ("num_products", "human_goals", "catalog_seed")
    keywords = {name: getattr(arguments, name) for name in options}
    with progress():
        catalogue = Catalogue.load(**files, **keywords)
        catalogue.save(target)
    sys.stdout.write(
        f"{len(catalogue.products):,} products and {len(catalogue.goals):,} goals "
        f"in {target}; title nouns: {catalogue.title_nouns_source}\n"
    )
    return 0


def _files_by_keyword(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the files by the keyword of the catalogue that takes each."""
    files: dict[str, str] = {}
    named = ("attributes", "human_instructions", "title_nouns")
    for keyword, path in (
        *((_guess_keyword(path), path) for path in arguments.files),
        *((name, path) for name in named if (path := getattr(arguments, name))),
    ):
        if keyword in files:
            text = (
                f"{files[keyword]} and {path} would both be {keyword} by their names; "
                "--attributes, --human-instructions and --title-nouns say what a file "
                "is"
            )
            raise argument_error("FILES", text)
        files[keyword] = path
    return files


def _guess_keyword(path: str) -> str:
    name = Path(path).name
    if name.startswith("items_human_ins"):
        return "human_instructions"
    if name.startswith("items_ins"):
        return "attributes"
    return "title_nouns" if "nouns" in name else "products"
