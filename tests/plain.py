"""Kernels as plain Python functions, with other values of their files' constants.

A limit that is compiled into a kernel cannot be lowered for a test; here it can.
"""

import inspect
import sys
import types


class PlainKernels:
    """The functions of a kernel file, and all that they call, not compiled.

    `constants` are new values of names in it, or in the files that it calls.
    """

    def __init__(self, module, **constants):
        files = {}
        self.__dict__ = _load(module, files)
        for name, value in constants.items():
            homes = [names for names in files.values() if name in names]
            assert homes, f"{module.__name__} has no {name}"
            for names in homes:
                names[name] = value


def _load(module, files):
    """Return the names of a file with its functions not compiled."""
    if module.__name__ in files:
        return files[module.__name__]
    names = files[module.__name__] = dict(vars(module))
    for name, value in vars(module).items():
        function = inspect.unwrap(getattr(value, "py_func", value))
        if not isinstance(function, types.FunctionType):
            continue
        home = function.__module__
        if home == module.__name__:
            names[name] = types.FunctionType(function.__code__, names, name)
        elif home.startswith("roll_vec.kernels.") and not home.endswith("._jit"):
            names[name] = _load(sys.modules[home], files)[name]
    return names
