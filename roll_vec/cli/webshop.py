"""``roll-vec webshop index``: store a shop's catalogue, or look at what is in one."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from roll_vec.cli._arguments import integer_from
from roll_vec.cli._errors import UsageError
from roll_vec.cli._imports import require

if TYPE_CHECKING:
    from roll_vec.envs.webshop import Catalogue

__all__ = ["add_parser"]

Progress: TypeAlias = Callable[[str, int, int], None]

# How many goals --check solves; more are looked at in even steps.
_SOLVED = 10_000
_SHOWN = 5

_DESCRIPTION = """\
Make the catalogue of a shop from WebShop's files and store it in a folder:
products, goals, title nouns and search index. An environment opens it in a moment,
-o products=DIR, and with -o memory_map=True all processes of a machine share it.
"""

_EPILOG = """\
files are told apart by their names, as WebShop has them:
  items_human_ins*   instructions by people
  items_ins*         attributes, instructions
  *nouns*            nouns of titles by asin
  any other          the products, such as items_shuffle_1000.json
plain JSON or .json.gz; no file at all: the embedded shop.

Rewards depend on which words of a title are nouns: from the file of them, else from
spaCy's en_core_web_sm where it is installed (and then kept in that file), else by a
rule. --check says which.

examples:
  roll-vec webshop index items_shuffle_1000.json items_ins_v2_1000.json --out shop
  roll-vec webshop index --num-products 50000 --out big --check
  roll-vec webshop index shop --check
  roll-vec play roll_vec/WebShop-v0 -o products=shop
"""


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of the program."""
    parent = commands.add_parser(
        "webshop",
        help="store and check the catalogues of WebShop",
        description="Store and check the catalogues of roll_vec/WebShop-v0.",
    )
    inner = parent.add_commands()
    parser = inner.add_parser(
        "index",
        help="store a catalogue, or say what is in one",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILES",
        help="WebShop's files, see below; or a folder that was stored",
    )
    for name, content in (
        ("attributes", "attributes and instructions"),
        ("human-instructions", "instructions by people"),
        ("title-nouns", "nouns of titles by asin"),
    ):
        parser.add_argument(
            f"--{name}", metavar="FILE", help=f"file of {content}, whatever its name"
        )
    parser.add_argument("--out", metavar="DIR", help="where the catalogue is stored")
    parser.add_argument(
        "--force",
        action="store_true",
        help="replace the catalogue that is in the folder of --out",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="report what is in it, and which goals cannot earn 1.0",
    )
    parser.add_argument(
        "--num-products",
        type=integer_from(1),
        metavar="N",
        help="read N items of the file, or make N products (default: all, or 1000)",
    )
    parser.add_argument(
        "--human-goals",
        action="store_true",
        help="the goals are people's instructions (default: one for each choice of "
        "options)",
    )
    parser.add_argument(
        "--catalog-seed",
        type=integer_from(0),
        default=0,
        metavar="N",
        help="seed of drawn prices and limits (default: %(default)s)",
    )
    parser.add_argument(
        "--search-backend",
        default="lucene",
        metavar="NAME",
        help="lucene, or tantivy for a million products, which ranks otherwise "
        "(default: %(default)s)",
    )
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    from roll_vec.envs.webshop import Catalogue
    from roll_vec.envs.webshop.catalogue.storage import check_files

    require("rich", "roll-vec webshop index")
    files = _by_kind(arguments)
    stored = files.get("products")
    is_folder = stored is not None and Path(stored).is_dir()
    if not (arguments.out or arguments.check):
        message = "argument --out: expected a folder, or --check, or both"
        raise UsageError(message)
    if is_folder and arguments.out:
        message = f"argument --out: {stored} is a stored catalogue already"
        raise UsageError(message)
    if arguments.out and not arguments.force:
        target = Path(arguments.out)
        if target.is_dir() and any(target.iterdir()):
            message = f"argument --out: {target} is not empty; --force replaces it"
            raise UsageError(message)
    keywords: dict[str, Any] = {**files, "num_products": arguments.num_products}
    fixed = ("human_goals", "catalog_seed", "search_backend")
    given = {name: getattr(arguments, name) for name in fixed}
    if is_folder:
        from roll_vec.envs.webshop.catalogue.storage import stored_options

        # Whatever it was stored with is what is looked at.
        given = {
            n: v for n, v in stored_options(Path(str(stored))).items() if n in fixed
        }
    begun = time.perf_counter()
    with _progress() as show:
        catalogue = Catalogue.load(progress=show, **keywords, **given)
        seconds = time.perf_counter() - begun
        if arguments.out:
            catalogue.save(arguments.out)
        report = []
        if arguments.check:
            report = [*_contents(catalogue), *_reachable(catalogue, show)]
    folder = arguments.out or (stored if is_folder else None)
    if arguments.check:
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        table = Table(title=folder or "catalogue", show_header=False)
        table.add_column(style="bold")
        table.add_column()
        if folder:
            size = check_files(Path(folder))
            report.append(("on disk", f"{size / 1e6:,.1f} MB, all files as stored"))
        report.append(("ready in", f"{seconds:.2f} s"))
        for name, value in report:
            table.add_row(name, Text(value, overflow="fold"))
        Console().print(table)
    elif folder:
        sys.stdout.write(
            f"{len(catalogue.products):,} products and {len(catalogue.goals):,} goals "
            f"in {folder}; title nouns: {catalogue.title_nouns_source}\n"
        )
    return 0


def _by_kind(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the keyword that each file is for."""
    found: dict[str, str] = {}
    named = [(_kind(path), path) for path in arguments.files]
    for name in ("attributes", "human_instructions", "title_nouns"):
        path = getattr(arguments, name)
        if path is not None:
            named.append((name, path))
    for kind, path in named:
        if kind in found:
            message = (
                f"argument FILES: {found[kind]} and {path} would both be {kind} by "
                "their names; --attributes, --human-instructions and --title-nouns say "
                "what a file is"
            )
            raise UsageError(message)
        found[kind] = path
    return found


def _kind(path: str) -> str:
    name = Path(path).name
    if name.startswith("items_human_ins"):
        return "human_instructions"
    if name.startswith("items_ins"):
        return "attributes"
    return "title_nouns" if "nouns" in name else "products"


def _contents(catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    """Give the rows of what is in a catalogue."""
    found = catalogue.describe()
    low, median, high = found["price"]
    skipped = found["skipped_items"]
    left_out = f" ({skipped:,} items left out)" if skipped else ""
    yield "products", f"{found['products']:,}{left_out}"
    yield "categories", _counted(found["categories"])
    yield "with options", f"{found['with_options']:,}"
    yield "price", f"{low:g} to {high:g}, median {median:g}"
    yield (
        "goals",
        f"{found['goals']:,}" + (" by people" if found["human_goals"] else ""),
    )
    yield "splits", _counted(found["splits"])
    yield "title nouns", found["title_nouns"]
    yield "search", found["search_backend"]
    yield "catalog seed", str(found["catalog_seed"])
    for name, path in found["files"].items():
        yield f"{name.replace('_', ' ')} file", path


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _reachable(catalogue: Catalogue, show: Progress) -> Iterator[tuple[str, str]]:
    """Give the rows about goals that no purchase fulfils."""
    n = len(catalogue.goals)
    numbers = range(0, n, max(1, -(-n // _SOLVED)))
    notes = []
    for done, number in enumerate(numbers):
        why = catalogue.solve(number).why
        if why is not None:
            notes.append(f"goal {number}: {why}")
        if done % 100 == 0:
            show("goals solved", done, len(numbers))
    yield "goals that cannot earn 1.0", f"{len(notes):,} of {len(numbers):,}"
    for note in notes[:_SHOWN]:
        yield "", note


@contextmanager
def _progress() -> Iterator[Progress]:
    """Show a bar for each thing that is done, if there is someone to see it."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,}/{task.total:,}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    tasks: dict[str, TaskID] = {}
    with bar:

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done)

        yield show
