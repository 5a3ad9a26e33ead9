"""``roll-vec webshop index``: store a shop in a file."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from roll_vec.cli._errors import argument_error, check_target
from roll_vec.cli._options import add_command, add_commands
from roll_vec.cli._tables import progress

_DESCRIPTION = """\
Make the catalogue of a shop from WebShop's files and store it in one file:
products, goals, title nouns and search index. An environment opens it in a
moment, -o products=FILE, and all processes of a machine share its memory.
"""

_EPILOG = """\
Files are JSON or .json.gz, as WebShop has them; without any, the demo shop.

Rewards depend on which words of a title are nouns: from the file of them, else
by a rule. The command says which.

examples:
  roll-vec webshop index items_shuffle_1000.json --out shop \\
      --attributes items_ins_v2_1000.json
  roll-vec play roll_vec/WebShop-v0 -o products=shop
"""

# The arguments that are keywords of a catalogue.
_KEYWORDS = (
    *("products", "attributes", "human_instructions", "title_nouns"),
    *("num_products", "human_goals", "catalog_seed"),
)


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    summary = "store shops of WebShop"
    text = "Store shops of roll_vec/WebShop-v0."
    inner = add_commands(commands, "webshop", summary, text)
    summary = "store a shop in a file"
    parser = add_command(inner, "index", _run, summary, _DESCRIPTION, _EPILOG)
    parser.option("PRODUCTS", "such as items_shuffle_1000.json", nargs="?")
    for name, content in (
        ("--attributes", "attributes and instructions, such as items_ins_v2_1000.json"),
        (
            "--human-instructions",
            "instructions by people, such as items_human_ins.json",
        ),
        ("--title-nouns", "nouns of titles by asin"),
    ):
        parser.option(name, content, "FILE")
    parser.option("--out", "where the shop is stored", required=True)
    parser.flag("--overwrite", "replace the shop that is stored there")
    text = "read the first N products only (default: all)"
    parser.number("--num-products", text, 1)
    parser.flag(
        "--human-goals", "the goals are people's instructions, not choices of options"
    )
    parser.number("--catalog-seed", "seed of drawn prices and limits", 0, default=0)


def _run(arguments: argparse.Namespace) -> int:
    from roll_vec.envs.webshop import Catalogue
    from roll_vec.envs.webshop.storage import is_stored

    products, target = arguments.products, arguments.out
    if products is not None and is_stored(products):
        raise argument_error("PRODUCTS", f"{products} is a stored shop already")
    check_target("--out", target)
    if target.exists() and not arguments.overwrite:
        text = f"{target} is there already; --overwrite replaces a stored shop"
        raise argument_error("--out", text)
    with progress():
        catalogue = Catalogue.load(**{x: getattr(arguments, x) for x in _KEYWORDS})
        catalogue.save(target)
    sys.stdout.write(
        f"{len(catalogue.products):,} products and {len(catalogue.goals):,} goals "
        f"in {target}; title nouns: {catalogue.title_nouns_source}\n"
    )
    return 0
