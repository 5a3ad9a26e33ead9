"""The package lacks a file or a name; `diagnose` misses a cause or stops at one."""

import ast
import json
import pickle
import re
import subprocess
import sys
import traceback
from importlib import metadata

import numba
import pytest

import roll_vec
from roll_vec import diagnosis, errors
from roll_vec.diagnosis import BROKEN, OK, WARNING, Finding
from tests.conftest import ROOT

PROJECT = (ROOT / "pyproject.toml").read_text("utf-8")


def test_the_version_and_the_packages_are_listed():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f'\nversion = "{roll_vec.__version__}"\n' in PROJECT
    assert f'\nversion: "{roll_vec.__version__}"\n' in citation
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
    modules = {"descriptions", "errors", "evaluation", "export", "joined"}
    modules |= {"progress", "recordings", "seeding", "sessions", "spaces", "testing"}
    modules |= {"trajectories", "watch"}
    assert set(dir(roll_vec)) == modules | set(roll_vec.__all__)
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
    section = f"docs/errors.md#{type(error).__name__.lower()}"
    again = pickle.loads(pickle.dumps(error))
    assert error.docs == again.docs == section
    assert error.__notes__ == again.__notes__ == [f"See {section}"]
    lines = traceback.format_exception_only(type(error), error)
    if hasattr(error, "add_note"):  # Python 3.11
        assert lines[-1] == f"See {section}\n"
    # A class without a section has no note.
    for cls in (errors.RollVecError, type("Error", (errors.RollVecError,), {})):
        assert not hasattr(cls("text"), "__notes__")
        assert cls("text").docs == ""


def lines_of(check):
    return {one.name: one for one in diagnosis._run([check])}


def test_this_installation_has_no_problem(monkeypatch, tmp_path):
    # The folder of this machine may have thousands of files.
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    sections = diagnosis.diagnose()
    findings = [one for lines in sections.values() for one in lines]
    assert not [one for one in findings if one.status == BROKEN]
    assert all(one.advice for one in findings if one.status != OK)


def test_a_check_that_raises_becomes_a_line_and_the_others_stay():
    def check_disk():
        raise OSError("no\nsuch disk")

    first, second = diagnosis._run([check_disk, lambda: iter([Finding("a", "b")])])
    assert first == Finding(
        "check_disk", "OSError: no such disk", WARNING, "this line could not be checked"
    )
    assert second == Finding("a", "b")


@pytest.fixture
def versions(monkeypatch):
    """Pretend that packages have these versions, and that no others are installed."""

    def pretend(requirements, **versions):
        def version(name):
            if name not in versions:
                raise metadata.PackageNotFoundError(name)
            return versions[name]

        monkeypatch.setattr(metadata, "requires", lambda _: requirements)
        monkeypatch.setattr(metadata, "version", version)

    return pretend


def test_missing_and_old_packages_are_named(versions):
    needs = ["numpy>=1.26", "numba>=0.61", "gymnasium>=1.1"]
    versions(needs, numpy="1.26", numba="0.100")
    lines = lines_of(diagnosis._check_packages)
    statuses = {name: line.status for name, line in lines.items()}
    assert statuses.pop("llvmlite") == BROKEN
    assert statuses == {"numpy": OK, "numba": OK, "gymnasium": BROKEN}
    versions(needs[1:2], numba="0.60.2", llvmlite="0.44")
    line = lines_of(diagnosis._check_packages)["numba"]
    assert "needs numba>=0.61" in line.advice
    assert line.status == BROKEN
    # Extras.
    needs = ['rich>=13.7; extra == "cli"', "pygame (>=2.5.2) ; extra == 'render'"]
    # Those of other Pythons and extras of extras are left out.
    needs += ['none; python_version < "3" and extra == "render"']
    needs += ['roll-vec[cli,render]; extra == "all"']
    versions(needs, rich="13.10.1")
    lines = lines_of(diagnosis._check_extras)
    assert lines.keys() == {"cli", "render"}
    assert lines["cli"] == Finding("cli", "rich 13.10.1")
    assert "not installed: pygame" in lines["render"].value
    assert '".[render]"' in lines["render"].value
    assert lines["render"].status == OK
    versions(needs, rich="12.9", pygame="2.5.2")
    lines = lines_of(diagnosis._check_extras)
    assert (lines["cli"].status, lines["render"].status) == (WARNING, OK)
    # Another version of this package than that of pip.
    versions([], **{"roll-vec": "0.0.1"})
    lines = lines_of(diagnosis._check_roll_vec)
    assert lines["roll_vec for pip"].status == WARNING
    versions([], **{"roll-vec": roll_vec.__version__})
    assert lines_of(diagnosis._check_roll_vec).keys() == {"roll_vec"}


def test_variables_that_make_it_slow_are_a_warning_and_sizes_have_units(monkeypatch):
    texts = {"0": WARNING, "many": WARNING, "4096": WARNING, "1": OK}
    for text, status in texts.items():
        monkeypatch.setenv("ROLL_VEC_NUM_THREADS", text)
        assert lines_of(diagnosis._check_threads)["threads"].status == status
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "0")
    assert lines_of(diagnosis._check_variables) == {}
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert lines_of(diagnosis._check_variables)["NUMBA_DISABLE_JIT"].status == WARNING
    texts = [diagnosis.format_bytes(size) for size in (1023, 1536, 2**31, 2**40)]
    assert texts == ["1023 bytes", "1.5 KiB", "2.0 GiB", "1.0 TiB"]


def test_a_link_that_is_a_file_is_broken(monkeypatch, tmp_path):
    """Git writes such a file on Windows without symbolic links."""
    link = tmp_path / "kernels"
    link.write_text("../kernels")
    monkeypatch.setattr(diagnosis, "_FOLDER", link)
    finding = lines_of(diagnosis._check_folder)["folder"]
    assert (finding.value, finding.status) == ("a file", BROKEN)
    assert "core.symlinks" in finding.advice


def test_a_cache_folder_that_cannot_be_written_is_a_warning(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "new"))
    finding = lines_of(diagnosis._check_cache)["cache"]
    assert finding.status == OK
    assert "0 bytes" in finding.value
    (tmp_path / "new").touch()  # no folder can be made in a file
    assert lines_of(diagnosis._check_cache)["cache"].status == WARNING
