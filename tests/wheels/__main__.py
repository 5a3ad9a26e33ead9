"""Build the sdist and the wheel, check them, install and run them.

Run as ``python -m tests.wheels [versions of Python]``; without versions, all of
`PYTHONS` that are here.  Each gets a new virtual environment, for the wheel and then
the sdist, with the extras ``cli`` and ``webshop``, and resolves all extras at once.
The lowest versions of ``tests/pins/sets.py`` run the wheel without extras.  The
archives are left in ``dist``; ``--built`` uses those that are there.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from tests.pins.sets import SETS
from tests.pythons import find_python

ROOT = Path(__file__).resolve().parent.parent.parent
DIST = ROOT / "dist"
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
_EXTRAS = "[cli,webshop]"
# Folders of a checkout that are no part of the package.
_UNWANTED = re.compile(
    r"(^|/)(__pycache__|tests|benchmarks|docs)/|(^|/)\.|"
    r"\.(pyc|pyo|orig|rej|nbi|nbc)$"
)
# Beside the package, in the sdist alone.
_BESIDE = {"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "setup.py"}


def read(path: Path) -> dict[str, bytes]:
    """Return the files of an sdist or a wheel, without the sdist's outer folder."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            return {name: archive.read(name) for name in names}
    files = {}
    with tarfile.open(path) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                files[member.name.partition("/")[2]] = content.read()
            elif not member.isdir():
                # A link in an sdist would lead nowhere on Windows.
                message = f"{path.name}: {member.name} is neither a file nor a folder"
                raise ValueError(message)
    return files


def needed_files(root: Path, is_sdist: bool) -> set[str]:
    """Return the files of a checkout that an archive must have, also without Python.

    The kernels of a wheel stand in ``roll_vec/kernels``, those of an sdist where they
    stand in the checkout.
    """
    files = [*(root / "roll_vec").rglob("*"), *(root / "kernels").rglob("*")]
    names = {path.relative_to(root).as_posix() for path in files if path.is_file()}
    # The link, or the file that Git for Windows writes in its place.
    names -= {*unwanted_files(names), "roll_vec/kernels"}
    if is_sdist:
        return names | _BESIDE
    return {re.sub(r"^kernels/", "roll_vec/kernels/", name) for name in names}


def unwanted_files(names: set[str]) -> list[str]:
    """Return the files that an archive should not have: tests, caches, hidden files."""
    return sorted(name for name in names if _UNWANTED.search(name))


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


def copy_checkout(folder: Path) -> None:
    """Copy the files that git knows or does not ignore; a link becomes a small file.

    Git for Windows writes links so.
    """
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    for name in output.decode().split("\0"):
        source, target = ROOT / name, folder / name
        if name and os.path.lexists(source):
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_symlink():
                target.write_text(str(source.readlink()))
            else:
                shutil.copy2(source, target)


def build(kind: str, folder: Path, out: Path) -> Path:
    """Build an sdist or a wheel of a folder; return its path."""
    command = [sys.executable, "-m", "build", f"--{kind}", "--outdir", out, folder]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    pattern = "*.whl" if kind == "wheel" else "*.tar.gz"
    (path,) = out.glob(pattern)
    return path


def build_and_check(work: Path) -> tuple[Path, Path]:
    """Build both from a clean copy, check their files; return wheel and sdist."""
    checkout, unpacked = work / "checkout", work / "unpacked"
    copy_checkout(checkout)
    sdist = build("sdist", checkout, work / "sdist")
    wheel = build("wheel", checkout, work / "wheel")
    for name, content in read(sdist).items():
        (unpacked / name).parent.mkdir(parents=True, exist_ok=True)
        (unpacked / name).write_bytes(content)
    second = build("wheel", unpacked, work / "second")
    faults = []
    for path in (sdist, wheel):
        names = set(read(path))
        needed = needed_files(checkout, path is sdist)
        faults += [f"{path.name} lacks {name}" for name in sorted(needed - names)]
        faults += [f"{path.name} has {x}" for x in unwanted_files(names)]
        say(f"{path.name}: {len(names)} files, {path.stat().st_size >> 10} KiB")
    different = read(wheel).items() ^ read(second).items()
    faults += [f"a wheel of the sdist has another {name}" for name, _ in different]
    if faults:
        raise SystemExit("\n".join(faults))
    subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", wheel, sdist], check=True
    )
    return wheel, sdist


class Installation:
    """A virtual environment outside of the checkout, and a cache folder of its own."""

    def __init__(self, python: str, folder: Path) -> None:
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        self._folder = folder
        scripts = "Scripts" if os.name == "nt" else "bin"
        self._python = str(folder / scripts / "python")
        variables = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
        kept = {k: v for k, v in os.environ.items() if k not in variables}
        self._environ = {**kept, "NUMBA_CACHE_DIR": str(folder / "cache")}

    def install(self, *requirements: str) -> None:
        pip = [self._python, "-m", "pip", "install", "--quiet", "--prefer-binary"]
        self._run([*pip, "--disable-pip-version-check", *requirements])

    def smoke(self, *arguments: str) -> None:
        """Run the program in a copy, so that the checkout is not on its path."""
        program = self._folder / "smoke.py"
        shutil.copy(Path(__file__).with_name("smoke.py"), program)
        self._run([self._python, program.name, *arguments])

    def check_extras(self, wheel: Path) -> None:
        """Resolve all extras at once, without installing them.

        Each package that an extra names must have the version that it has alone, within
        the bounds of pyproject.toml.  What fits all extras fits every pair of them.
        """
        (name,) = (name for name in read(wheel) if name.endswith("info/METADATA"))
        text = read(wheel)[name].decode()
        extras = re.findall("^Provides-Extra: (.*)$", text, re.MULTILINE)
        line = "^Requires-Dist: (?!roll-vec)(.*)(?: and|;) extra == .*$"
        named = re.findall(line, text, re.MULTILINE)
        self.install("--upgrade", "pip")  # older ones would download all of them
        versions = self._resolve(f"{wheel}[{','.join(extras)}]")
        for package, newest in self._resolve("--no-deps", *named).items():
            if versions[package] != newest:
                name = re.compile(rf"{package}(?![\w.-])", re.IGNORECASE)
                alone = self._resolve(*filter(name.match, named))[package]
                if (version := versions[package]) != alone:
                    raise SystemExit(f"extras: {package} {version}, alone {alone}")

    def _resolve(self, *requirements: str) -> dict[str, str]:
        """Return the versions that pip would install in an empty environment."""
        pip = [self._python, "-m", "pip", "install", "--quiet", "--report", "-"]
        command = [*pip, "--dry-run", "--ignore-installed", *requirements]
        output = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        items = [item["metadata"] for item in json.loads(output)["install"]]
        return {item["name"].lower(): item["version"] for item in items}

    def _run(self, command: list[str]) -> None:
        subprocess.run(command, check=True, cwd=self._folder, env=self._environ)


def find_pythons(versions: list[str]) -> dict[str, str]:
    """Return the interpreters of some versions, or of all that are here."""
    pythons = {}
    for version in versions or PYTHONS:
        try:
            pythons[version] = find_python([version])
        except LookupError as error:
            if versions:
                raise SystemExit(str(error)) from None
            say(f"not tested: Python {version} is not here")
    return pythons


def main_job() -> list[str]:
    """Return the arguments of ``roll-vec`` in README's first block."""
    text = (ROOT / "README.md").read_text("utf-8")
    return re.findall(r"^```sh\n.* && roll-vec (.*)$", text, re.MULTILINE)[0].split()


def main(arguments: list[str]) -> None:
    """Build and check, or use what is in ``dist``; install and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.wheels")
    parser.add_argument("versions", nargs="*", help="of Python; default: all here")
    parser.add_argument("--build", action="store_true", help="build and check only")
    parser.add_argument("--built", action="store_true", help="use the archives in dist")
    options = parser.parse_args(arguments)
    if not options.built:
        shutil.rmtree(DIST, ignore_errors=True)
        DIST.mkdir()
        with tempfile.TemporaryDirectory() as folder:
            for path in build_and_check(Path(folder)):
                say(f"written: {shutil.copy(path, DIST)}")
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    pythons = {} if options.build else find_pythons(options.versions)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for version, python in pythons.items():
            say(f"\n-- Python {version}: wheel, then sdist, with {_EXTRAS}")
            installation = Installation(python, work / version)
            installation.install(f"{wheel}{_EXTRAS}")
            installation.smoke("extras", *main_job())
            installation.install("--no-deps", "--force-reinstall", str(sdist))
            installation.smoke("extras", *main_job())
            say("all extras")
            installation.check_extras(wheel)
            shutil.rmtree(work / version)
        lowest = SETS["lowest"]
        names = [x for x in lowest.pythons if x in (options.versions or PYTHONS)]
        if names and not options.build:
            say(f"\n-- lowest: {' '.join(lowest.requirements)}, no extras")
            installation = Installation(find_python(names), work / "lowest")
            installation.install(str(wheel), *lowest.requirements)
            installation.smoke("core")


if __name__ == "__main__":
    main(sys.argv[1:])
