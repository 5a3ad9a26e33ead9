"""The virtual environment of a framework: built, and programs run in it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
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

    Its folder has the checkout and the log too; one that stands from an earlier run is
    used again, if it is of the same packages.
    """

    def __init__(self, framework: Framework, folder: Path, checkouts: Path) -> None:
        self.framework, self.folder, self.checkouts = framework, folder, checkouts
        self.checkout = folder / "checkout"
        self.python = folder / "venv" / "bin" / "python"
        folder.mkdir(parents=True, exist_ok=True)

    def install(self, wheel: Path) -> None:
        """Install the framework and roll_vec, in one call of pip: their pins must fit.

        Without the checkout or the interpreter it is a `NotRunError`.
        """
        framework = self.framework
        if framework.checkout is not None:
            self._check_out(framework.checkout, self.checkout)
        complete = self.folder / "installed.txt"
        facts = f"{framework}\n{CONSTRAINTS.read_text('utf-8')}"
        # Files are compiled when they are imported.
        pip = [self.python, "-m", "pip", "install", "--quiet", "--no-compile"]
        pip.append("--prefer-binary")
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
        extras = f"[{framework.extras}]" * bool(framework.extras)
        self.run([*pip, "-c", CONSTRAINTS, f"{wheel}{extras}", *framework.packages])
        complete.write_text(facts, "utf-8")

    def _check_out(self, checkout: Checkout, target: Path) -> None:
        """Clone the commit once more, so that the clone itself stays as it is."""
        repository, commit = checkout.repository, checkout.commit
        source = self.checkouts.resolve() / Path(repository).name
        here = ["git", "-C", str(target)]
        shutil.rmtree(target, ignore_errors=True)
        clone = ["git", "clone", "--quiet", "--shared", "--no-checkout"]
        if not _succeeds([*clone, str(source), str(target)]) or not _succeeds(
            [*here, "cat-file", "-e", f"{commit}^{{commit}}"]
        ):
            command = f"git clone https://github.com/{repository}"
            message = f"--checkouts {self.checkouts} lacks {command} (commit {commit})"
            raise NotRunError(message)
        # Copies of a repository may lack large files; nothing here needs them.
        _succeeds([*here, "checkout", "--quiet", "--detach", commit])
        for folder, submodule in checkout.submodules:
            self._check_out(submodule, target / folder)

    def compare(self, program: Path) -> list[dict[str, Any]]:
        """Return the rows that a program of comparisons writes."""
        rows = self.folder / "rows.json"
        rows.unlink(missing_ok=True)
        self.run([self.python, program, rows])
        content: list[dict[str, Any]] = json.loads(rows.read_text("utf-8"))
        return content

    def run(self, command: Sequence[str | Path]) -> None:
        """Run a program; its output goes to a log.

        A `FailureError` says that it has failed, or takes longer than `SECONDS`.
        """
        log = self.folder / "log.txt"
        work = self.folder / "work"
        work.mkdir(exist_ok=True)
        end = ""
        with log.open("wb") as file:
            try:
                subprocess.run(
                    command,
                    cwd=work,
                    env=self._variables(),
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    timeout=SECONDS,
                    check=True,
                )
                return
            except subprocess.CalledProcessError:
                pass
            except subprocess.TimeoutExpired:
                end = f"no end within {SECONDS} s"
        lines = log.read_text("utf-8", "replace").splitlines()[-30:]
        raise FailureError("\n".join([*lines, end]).rstrip())

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
            paths.append(str(self.checkout))
        return variables | {"PYTHONPATH": os.pathsep.join(paths)}

    def versions(self) -> dict[str, str]:
        """Return the versions of Python, of packages and of the checkout."""
        names = [re.split(r"[^\w.-]", p)[0] for p in self.framework.packages]
        names = list(dict.fromkeys([*names, *CORE]))
        program = (
            f"import json, platform; from importlib.metadata import version; "
            f"versions = {{name: version(name) for name in {names}}}; "
            f"print(json.dumps({{'Python': platform.python_version(), **versions}}))"
        )
        output = subprocess.check_output([self.python, "-c", program], text=True)
        versions: dict[str, str] = json.loads(output)
        if self.framework.checkout is not None:
            versions[self.framework.title] = self.framework.checkout.commit[:8]
        return versions


def _succeeds(command: Sequence[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
