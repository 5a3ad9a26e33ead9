"""A kernel file changes whenever a kernel file that it uses changes."""

import shutil

from tests.kernels.cache_stamps import KERNELS, carried, rewrite, stamps


def test_stamps_are_right():
    for path, wanted in stamps().items():
        assert carried(path) == wanted, f"{path.name}: run `make stamps`"


def test_stamps_a_changed_helper_changes_every_file_above(tmp_path):
    folder = tmp_path / "kernels"
    shutil.copytree(KERNELS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    assert rewrite(folder) == []
    helper = folder / "_jit.py"
    helper.write_text(helper.read_text("utf-8") + "# another line\n", "utf-8")
    changed = {path.name for path in rewrite(folder)}
    assert changed == {path.name for path in stamps(folder)}
    assert {"_random.py", "sokoban.py", "sokoban_rooms.py"} <= changed
