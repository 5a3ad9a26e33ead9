"""Files for contributors repeat what stands elsewhere; tests know what users know."""

import ast
import re

from docs.build.api import public_modules
from tests.conftest import ROOT

TESTS, PACKAGE = ROOT / "tests", ROOT / "roll_vec"
OURS = ("roll_vec", "kernels", "benchmarks", "docs")
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
PUBLIC = {
    *public_modules(),
    *re.findall(r"\broll_vec(?:\.\w+)+", "".join(p.read_text("utf-8") for p in PAGES)),
}
# Packages that a folder of tests/ tests, where it is not the one of its name.
TESTED = {
    "browser": ["roll_vec.watch"],
    "cli": ["roll_vec.cli", "roll_vec.evaluation"],
    # The adapters, and our demo shop in the code of WebShop.
    "frameworks": ["roll_vec.adapters", "roll_vec.envs.webshop"],
    # The limits of states, which are those of array games.
    "envs": ["roll_vec.envs", "roll_vec.arrays"],
    "kernels": ["roll_vec.kernels", "roll_vec.arrays", "roll_vec.envs.countdown"],
    "pool": ["roll_vec.pool", "roll_vec.trajectories", "roll_vec.vector"],
    "trajectories": ["roll_vec.trajectories", "roll_vec.recordings"],
    "arrays": ["roll_vec.arrays", "roll_vec.kernels"],
    "splits.py": ["roll_vec.arrays"],
    "test_base_envs.py": ["roll_vec.objects"],
    "test_file_formats.py": ["roll_vec.storage"],
    "test_files.py": ["roll_vec.evaluation", "roll_vec.pool", "roll_vec.storage"],
    "test_package.py": ["roll_vec.errors"],
    "test_process_cache.py": ["roll_vec.storage"],
}
# The table of ids: CONTRIBUTING.md says that tests take the ids from there.
FOR_ALL_TESTS = {"roll_vec.registration.ENVIRONMENTS"}


def test_a_test_imports_private_names_only_of_the_package_that_it_tests():
    lines = [line for file in TESTS.rglob("*.py") for line in private_imports(file)]
    assert sorted(lines) == [], "import what the documentation names"


def private_imports(file):
    """Return ``file: name`` for each import that only another test may have."""
    folder = file.relative_to(TESTS).parts[0]
    name = re.sub(r"^test_|\.py$", "", folder)
    tested = TESTED.get(folder, [name, f"roll_vec.{name}"])
    lines = []
    for module, name in imports(file):
        dotted = ".".join(filter(None, [module, name]))
        private = re.search(r"\._(?!_)", dotted) is not None
        if any(f"{module}.".startswith(f"{package}.") for package in tested):
            private = dotted.startswith("roll_vec.cli._")
        elif module.startswith("roll_vec."):
            private |= module not in PUBLIC and dotted not in FOR_ALL_TESTS
        if private:
            lines.append(f"{file.relative_to(TESTS).as_posix()}: {dotted}")
    return lines


def imports(file):
    """Yield the modules of this repository that a file imports, each with a name."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [(node.module or "", alias.name) for alias in node.names]
        for module, name in names:
            if module.partition(".")[0] in OURS:
                inner = f"{module}.{name}"
                yield (inner, None) if is_module(inner) else (module, name)


def is_module(dotted):
    """Return whether a dotted name is a file or a folder of this repository."""
    path = ROOT.joinpath(*dotted.split("."))
    return path.with_suffix(".py").is_file() or path.is_dir()


def test_the_rooms_of_the_package_have_few_arrows_between_them():
    """A room is a folder or a file directly below the package."""
    arrows = set()
    kernels = PACKAGE / "kernels"  # a symlink, which rglob does not follow
    for file in [*PACKAGE.rglob("*.py"), *kernels.rglob("*.py")]:
        room = file.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for module, _ in imports(file):
            if module.startswith("roll_vec.") and room != "__init__":
                arrows.add((room, module.split(".")[1]))
    arrows = {f"{start} -> {end}" for start, end in arrows if start != end}
    assert len(arrows) <= 150, "\n".join(sorted(arrows))
