"""``roll-vec webshop index``: store the catalogue of a shop, or report its contents."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roll_vec.cli._errors import argument_error, require
from roll_vec.cli._options import add_command, add_commands, refuse_arguments
from roll_vec.cli._tables import print_table, progress
from roll_vec.progress import report

if TYPE_CHECKING:
    from roll_vec.envs.webshop import Catalogue

# --check solves at most so many goals, in even steps, and names the first obstacles.
_MAX_SOLVED_GOALS = 10_000
_MAX_OBSTACLES = 5

_DESCRIPTION = """\
Make the catalogue of a shop from WebShop's files and store it in a folder:
products, goals, title nouns and search index. An environment opens it in a
moment, -o products=DIR, and with -o memory_map=True all processes of a machine
share it.
"""

_EPILOG = """\
files are told apart by their names, as WebShop has them:
  items_human_ins*   instructions by people
  items_ins*         attributes, instructions
  *nouns*            nouns of titles by asin
  any other          the products, such as items_shuffle_1000.json
plain JSON or .json.gz; no file at all: the demo shop.

Rewards depend on which words of a title are nouns: from the file of them, else
from spaCy's en_core_web_sm where it is installed (and then kept in that file),
else by a rule. --check says which.

examples:
  roll-vec webshop index items_shuffle_1000.json items_ins_v2_1000.json \\
      --out shop
  roll-vec webshop index --num-products 50000 --out big --check
  roll-vec webshop index shop --check
  roll-vec play roll_vec/WebShop-v0 -o products=shop
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    summary = "store and check the catalogues of WebShop"
    text = "Store and check the catalogues of roll_vec/WebShop-v0."
    inner = add_commands(commands, "webshop", summary, text)
    summary = "store a catalogue, or say what is in one"
    parser = add_command(inner, "index", _run, summary, _DESCRIPTION, _EPILOG)
    parser.option("FILES", "WebShop's files, or a folder that was stored", nargs="*")
    for name, content in (
        ("attributes", "attributes and instructions"),
        ("human-instructions", "instructions by people"),
        ("title-nouns", "nouns of titles by asin"),
    ):
        parser.option(f"--{name}", f"file of {content}, whatever its name", "FILE")
    parser.option("--out", "where the catalogue is stored", "DIR", str)
    parser.flag("--force", "replace the catalogue that is in the folder of --out")
    parser.flag("--check", "report what is in it, and which goals cannot earn 1.0")
    text = "read N items of the file, or make N products (default: all, or 1000)"
    parser.number("--num-products", text, 1)
    parser.flag(
        "--human-goals", "the goals are people's instructions, not choices of options"
    )
    parser.number("--catalog-seed", "seed of drawn prices and limits", 0, default=0)
    parser.option(
        "--search-backend",
        "lucene, or tantivy for a million products, which ranks otherwise",
        "NAME",
        default="lucene",
    )


def _run(arguments: argparse.Namespace) -> int:
    from roll_vec.envs.webshop import Catalogue
    from roll_vec.envs.webshop.manifest import check_everything
    from roll_vec.envs.webshop.storage import FIXED_OPTIONS, stored_options

    require("rich", "roll-vec webshop index")
    files = _files_by_keyword(arguments)
    source = Path(files.get("products", "."))
    is_stored = "products" in files and source.is_dir()
    if not (arguments.out or arguments.check):
        raise argument_error("--out", "expected a folder, or --check, or both")
    if is_stored and arguments.out:
        raise argument_error("--out", f"{source} is a stored catalogue already")
    if arguments.out and not arguments.force:
        target = Path(arguments.out)
        if target.is_dir() and any(target.iterdir()):
            text = f"{target} is not empty; --force replaces it"
            raise argument_error("--out", text)
    if not arguments.out:
        refuse_arguments(arguments, ["force"], "without --out DIR")
    # A stored catalogue is opened with the options that it was built with.
    if is_stored:
        refuse_arguments(arguments, FIXED_OPTIONS, "with a stored catalogue")
        options = stored_options(source)
    else:
        options = {name: getattr(arguments, name) for name in FIXED_OPTIONS}
    options |= {**files, "num_products": arguments.num_products}
    start = time.perf_counter()
    with progress():
        catalogue = Catalogue.load(progress=report, **options)
        seconds = time.perf_counter() - start
        if arguments.out:
            catalogue.save(arguments.out)
        rows = []
        if arguments.check:
            rows = [*_describe(catalogue), *_solve_goals(catalogue)]
    folder = arguments.out or (files["products"] if is_stored else None)
    if arguments.check:
        if folder:
            size = check_everything(Path(folder))
            rows.append(("on disk", f"{size / 1e6:,.1f} MB, all files as stored"))
        rows.append(("ready in", f"{seconds:.2f} s"))
        print_table(folder or "catalogue", rows, justify="left")
    elif folder:
        sys.stdout.write(
            f"{len(catalogue.products):,} products and {len(catalogue.goals):,} goals "
            f"in {folder}; title nouns: {catalogue.title_nouns_source}\n"
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


def _describe(catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    """Yield the rows about the contents of a catalogue."""
    summary = catalogue.describe()
    low, median, high = summary["price"]
    skipped = summary["skipped_items"]
    left_out = f" ({skipped:,} items left out)" if skipped else ""
    yield "products", f"{summary['products']:,}{left_out}"
    yield "categories", _join_counts(summary["categories"])
    yield "with options", f"{summary['with_options']:,}"
    yield "price", f"{low:g} to {high:g}, median {median:g}"
    by_people = " by people" if summary["human_goals"] else ""
    yield "goals", f"{summary['goals']:,}{by_people}"
    yield "splits", _join_counts(summary["splits"])
    yield "title nouns", summary["title_nouns"]
    yield "search", summary["search_backend"]
    yield "catalog seed", str(summary["catalog_seed"])
    for name, path in summary["files"].items():
        yield f"{name.replace('_', ' ')} file", path


def _join_counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _solve_goals(catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    """Yield the rows about goals that no purchase fulfils."""
    n = len(catalogue.goals)
    numbers = range(0, n, max(1, -(-n // _MAX_SOLVED_GOALS)))
    notes = []
    for count, number in enumerate(numbers):
        obstacle = catalogue.solve(number).obstacle
        if obstacle is not None:
            notes.append(f"goal {number}: {obstacle}")
        if count % 100 == 0:
            report("goals solved", count, len(numbers))
    yield "goals that cannot earn 1.0", f"{len(notes):,} of {len(numbers):,}"
    for note in notes[:_MAX_OBSTACLES]:
        yield "", note
