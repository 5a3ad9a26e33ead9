"""The package lacks a file or a name; its import is slow; errors name no section."""

import ast
import importlib
import json
import pickle
import re
import subprocess
import sys
import traceback

import pytest

import roll_vec
from roll_vec import errors
from tests.conftest import ROOT

PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")


def test_the_version_and_the_packages_are_listed():
    assert f'\nversion = "{roll_vec.__version__}"\n' in PROJECT
    # Python 3.10 has no tomllib.
    listed = re.search(r"^packages = (\[.*?\])$", PROJECT, re.MULTILINE | re.DOTALL)[1]
    kernels = ROOT / "roll_vec/kernels"  # a symlink, which rglob does not follow
    folders = [kernels.parent, *kernels.parent.rglob("*"), *kernels.iterdir()]
    on_disk = {
        ".".join(folder.relative_to(ROOT).parts)
        for folder in folders
        if (folder / "__init__.py").is_file()
    }
    assert set(json.loads(re.sub(r",\s*\]", "]", listed))) == on_disk


def test_public_names_exist_and_the_documentation_names_no_others():
    packages = {name.partition(".")[0] for name in roll_vec.PUBLIC_MODULES}
    assert set(dir(roll_vec)) == packages | set(roll_vec.__all__)
    names = set(roll_vec.__all__)
    for name in roll_vec.PUBLIC_MODULES:
        try:
            module = importlib.import_module(f"roll_vec.{name}")
        except ImportError:  # of an extra
            continue
        assert module.__all__
        assert all(hasattr(module, one) for one in module.__all__), name
        names |= {*module.__all__}
    # What one person can keep stable.
    assert len(names) <= 130
    assert not [name for name in dir(roll_vec) if getattr(roll_vec, name) is None]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        roll_vec.nothing  # noqa: B018
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "".join(page.read_text("utf-8") for page in pages)
    packages = {path.stem for path in (ROOT / "roll_vec").iterdir()}
    names = set(re.findall(r"\broll_vec\.([a-z_]+)", text))
    assert names <= packages | set(dir(roll_vec))
    # Type checkers are told every name; else mypy refuses it.
    tree = ast.parse((ROOT / "roll_vec" / "__init__.py").read_text("utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imported = {one.asname or one.name for node in imports for one in node.names}
    assert set(dir(roll_vec)) - {"__version__"} <= imported


def test_import_is_light():
    code = (
        "import sys, roll_vec, roll_vec.render.tiles, roll_vec.render.mosaic\n"
        "import roll_vec.render.window, roll_vec.render.ansi\n"
        "heavy = {'numba', 'PIL', 'rich', 'pygame'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert 'roll_vec.testing' not in sys.modules\n"
        "assert roll_vec.testing.check_vector_env and roll_vec.seeding.episode_seed\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.parametrize(
    "error",
    [
        errors.InvalidOptionError.expected("num_envs", "an int", None),
        errors.MissingExtraError("play", extra="cli", package="rich"),
        errors.PendingResultsError("text", "step"),
        errors.EnvironmentFaultError({1: "text"}),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_name_the_section_of_the_docs_that_explains_them(error):
    section = f"{errors.DOCS}/errors.md#{type(error).__name__.lower()}"
    again = pickle.loads(pickle.dumps(error))
    assert error.docs == again.docs == section
    # An installed package has no folder docs.
    assert section.startswith("https://")
    assert error.__notes__ == again.__notes__ == [f"See {section}"]
    lines = traceback.format_exception_only(type(error), error)
    if hasattr(error, "add_note"):  # Python 3.11
        assert lines[-1] == f"See {section}\n"
    # A class without a section has no note.
    for cls in (errors.RollVecError, type("Error", (errors.RollVecError,), {})):
        assert not hasattr(cls("text"), "__notes__")
        assert cls("text").docs == ""


def test_the_rooms_of_the_package_have_few_arrows_between_them():
    """A room is a folder or a file directly below the package; an arrow an import."""
    arrows, package = set(), ROOT / "roll_vec"
    kernels = package / "kernels"  # a symlink, which rglob does not follow
    for file in [*package.rglob("*.py"), *kernels.rglob("*.py")]:
        room = file.relative_to(package).parts[0].removesuffix(".py")
        lines = r"(?m)^ *(?:from|import) roll_vec(?:\.| import )(\w+)"
        names = re.findall(lines, file.read_text("utf-8"))
        arrows |= {f"{room} -> {name}" for name in names if name != room}
    arrows = {arrow for arrow in arrows if not arrow.startswith("__init__")}
    assert len(arrows) <= 150, "\n".join(sorted(arrows))
