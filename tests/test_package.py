"""The package lacks a file or a name, or `import roll_vec` imports too much."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import roll_vec

ROOT = Path(__file__).resolve().parent.parent


def _pyproject_list(name: str) -> list[str]:
    """Return a list of strings of pyproject.toml (Python 3.10 has no tomllib)."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    match = re.search(rf"^{name} = (\[.*?\])$", text, re.MULTILINE | re.DOTALL)
    assert match is not None
    return json.loads(re.sub(r",\s*\]", "]", match[1]))


def test_listed_packages_are_those_on_disk():
    kernels = ROOT / "roll_vec/kernels"  # a symlink, which rglob does not follow
    folders = [kernels.parent, *kernels.parent.rglob("*"), *kernels.iterdir()]
    on_disk = {
        ".".join(folder.relative_to(ROOT).parts)
        for folder in folders
        if (folder / "__init__.py").is_file()
    }
    assert set(_pyproject_list("packages")) == on_disk


def test_the_version_is_the_same_in_three_files():
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert f'\nversion = "{roll_vec.__version__}"\n' in text
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f'\nversion: "{roll_vec.__version__}"\n' in citation


def test_public_names_exist_and_the_documentation_names_no_others():
    modules = {"descriptions", "distributed", "errors", "evaluation", "export"}
    modules |= {"progress", "seeding", "sessions", "spaces", "testing", "trajectories"}
    assert set(dir(roll_vec)) == modules | {"watch"} | set(roll_vec.__all__)
    for name in dir(roll_vec):
        assert getattr(roll_vec, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        roll_vec.nothing  # noqa: B018
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "".join(page.read_text("utf-8") for page in pages)
    packages = {path.stem for path in (ROOT / "roll_vec").iterdir()}
    names = set(re.findall(r"\broll_vec\.([a-z_]+)", text))
    assert names <= packages | set(dir(roll_vec))
    # Type checkers are told every name; else mypy refuses it.
    tree = ast.parse((ROOT / "roll_vec" / "__init__.py").read_text("utf-8"))
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(dir(roll_vec)) - {"__version__"} <= imported


def test_import_is_light():
    code = (
        "import sys, roll_vec\n"
        "heavy = {'numba', 'PIL', 'rich', 'pygame', 'moviepy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert 'roll_vec.testing' not in sys.modules\n"
        "assert 'roll_vec.envs.webshop.demo_shop' not in sys.modules\n"
        "assert roll_vec.testing.check_vector_env and roll_vec.seeding.episode_seed\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
