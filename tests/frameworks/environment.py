"""The virtual environment of a framework: built, and programs run in it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.frameworks.frameworks import Checkout, Framework
from tests.pythons import find_python

HERE = Path(__file__).resolve().parent
CONSTRAINTS = HERE / "constraints.txt"
SECONDS = 1800  # only a hang takes so long
CORE = ("numpy", "numba", "gymnasium")


class NotRunError(Exception):
    """Something that the run needs is not here; the message says what."""


class FailureError(Exception):
    """A program has failed; the message has the last lines that it wrote."""


class Environment:
    """A virtual environment with a framework and roll_vec.

    Parameters
    ----------
    framework : Framework
    folder : Path
        Of the environment, the checkout and the logs; one that stands from an earlier
        run is used again, if it is of the same packages.
    checkouts : Path, optional
        The folder of checkouts.
    report_progress : callable
        Called about once a second while a program runs.
    """

    def __init__(
        self,
        framework: Framework,
        folder: Path,
        checkouts: Path | None,
        report_progress: Callable[[], None] = lambda: None,
    ) -> None:
        self.framework, self.folder = framework, folder
        self.report_progress = report_progress
        folder.mkdir(parents=True, exist_ok=True)
        self.checkout = folder / "checkout"
        if framework.checkout is not None:
            self._check_out(framework.checkout, checkouts, self.checkout)
        self.python = folder / "venv" / "bin" / "python"

    def _check_out(
        self, checkout: Checkout, checkouts: Path | None, target: Path
    ) -> None:
        """Clone the commit, so that the checkout itself stays as it is."""
        fetch = f"{checkout.command} (commit {checkout.commit}) in the folder"
        if checkouts is None:
            message = f"no checkout: pass --checkouts FOLDER, after {fetch}"
            raise NotRunError(message)
        source = checkouts / checkout.folder
        source = next((p for p in (source / "repo", source) if p.is_dir()), source)
        commit = f"{checkout.commit}^{{commit}}"
        git = ["git", "-C", str(source)]
        if not source.is_dir() or not _succeeds([*git, "cat-file", "-e", commit]):
            message = f"no checkout with this commit in the folder: {fetch}"
            raise NotRunError(message)
        here = ["git", "-C", str(target)]
        if not (target / ".git").is_dir() or not _succeeds(
            [*here, "diff", checkout.commit]
        ):
            # Of another commit, or of a run that was stopped.
            shutil.rmtree(target, ignore_errors=True)
            clone = ["git", "clone", "--quiet", "--shared", "--no-checkout"]
            self.run([*clone, source.resolve(), target])
            # Copies of a repository may lack large files; the check needs none.
            subprocess.run(
                [*here, "checkout", "--quiet", "--detach", checkout.commit],
                capture_output=True,
                check=False,
            )
        for folder, submodule in checkout.submodules:
            self._check_out(submodule, checkouts, target / folder)

    def install(self, wheel: Path) -> None:
        """Install the framework and roll_vec, in one call of pip: their pins must fit.

        Raises
        ------
        NotRunError
            If the interpreter is not here.
        FailureError
            If pip refuses.
        """
        framework = self.framework
        packages = [
            package.format(checkout=self.checkout) for package in framework.packages
        ]
        extras = f"[{','.join(framework.extras)}]" if framework.extras else ""
        complete = self.folder / "installed.txt"
        facts = f"{framework}\n{CONSTRAINTS.read_text('utf-8')}"
        pip = [self.python, "-m", "pip", "install", "--quiet", "--prefer-binary"]
        # Files are compiled when they are imported.
        pip.append("--no-compile")
        is_same = complete.is_file() and complete.read_text("utf-8") == facts
        if is_same and self.python.exists():
            self.run([*pip, "--no-deps", "--force-reinstall", wheel])
            return
        try:
            interpreter = find_python(framework.pythons)
        except LookupError as error:
            raise NotRunError(str(error)) from None
        complete.unlink(missing_ok=True)
        self.run([interpreter, "-m", "venv", "--clear", self.folder / "venv"])
        self.run([*pip, "-c", CONSTRAINTS, f"{wheel}{extras}", *packages])
        complete.write_text(facts, "utf-8")

    def run(self, command: Sequence[str | Path]) -> None:
        """Run a program; its output goes to a log.

        Raises
        ------
        FailureError
            If it fails, or takes longer than `SECONDS`.
        """
        log = self.folder / "log.txt"
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        with log.open("wb") as file:
            process = subprocess.Popen(
                command,
                cwd=work,
                env=self._variables(),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
            try:
                code = self._wait(process)
            finally:
                process.kill()
                process.wait()
        if code != 0:
            lines = log.read_text("utf-8", "replace").splitlines()[-30:]
            message = "\n".join(
                [*lines, f"no end within {SECONDS} s" if code is None else ""]
            )
            raise FailureError(message.rstrip())

    def _wait(self, process: subprocess.Popen[bytes]) -> int | None:
        """Return the code of a program that ends, None of one that does not."""
        for _ in range(SECONDS):
            try:
                return process.wait(1)
            except subprocess.TimeoutExpired:
                self.report_progress()
        return None

    def _variables(self) -> dict[str, str]:
        """Return the environment variables of programs."""
        paths = [str(HERE / "shared")]
        variables = {
            **os.environ,
            "MINARI_DATASETS_PATH": str(self.folder / "minari"),
            # Nothing here needs a model or a data set.
            "HF_HUB_OFFLINE": "1",
            "WANDB_MODE": "disabled",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }
        if self.framework.checkout is not None:
            variables["ROLL_VEC_CHECKOUT"] = str(self.checkout)
            paths += [str(self.checkout / p) for p in self.framework.checkout.paths]
        variables["PYTHONPATH"] = os.pathsep.join(paths)
        return variables

    def versions(self) -> dict[str, str]:
        """Return the versions of Python's packages and of the checkout."""
        output = self._output("-m", "pip", "list", "--format=json")
        installed = {_canonical(p["name"]): p["version"] for p in json.loads(output)}
        names = [re.split(r"[^\w.-]", p)[0] for p in self.framework.packages]
        versions = {
            name: installed[_canonical(name)]
            for name in dict.fromkeys([*names, *CORE])
            if _canonical(name) in installed
        }
        if self.framework.checkout is not None:
            first = {self.framework.title: self.framework.checkout.commit[:8]}
            versions = first | versions
        return versions

    def python_version(self) -> str:
        """Return the version of the interpreter."""
        return self._output("-c", "import platform; print(platform.python_version())")

    def _output(self, *arguments: str) -> str:
        return subprocess.run(
            [self.python, *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()


def run_check(environment: Environment, check: Path) -> Any:
    """Return the rows that a check writes; see `Environment.run` for errors."""
    output = environment.folder / "rows.json"
    output.unlink(missing_ok=True)
    environment.run([environment.python, check, output])
    if not output.is_file():
        message = f"{check.parent.name}/check.py has written no rows"
        raise FailureError(message)
    return json.loads(output.read_text("utf-8"))


def _succeeds(command: Sequence[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
