"""Kernels as plain Python functions, with other values of their file's constants.

A limit that is compiled into a kernel cannot be lowered for a test; here it can.
"""

import sys
import types


class PlainKernels:
    """The functions of a kernel file, and all that they call, not compiled.

    Parameters
    ----------
    module : module
        A file of ``roll_vec.kernels``.
    **constants
        New values of some of its names.
    """

    def __init__(self, module, **constants):
        names = dict(vars(module))
        unknown = set(constants) - set(names)
        assert not unknown, f"{module.__name__} has no {unknown}"
        others = {}
        for name, value in vars(module).items():
            function = getattr(value, "py_func", value)
            if not isinstance(function, types.FunctionType):
                continue
            home = function.__module__
            if home == module.__name__:
                names[name] = types.FunctionType(function.__code__, names, name)
            elif home.endswith("._random"):
                if home not in others:
                    others[home] = PlainKernels(sys.modules[home])
                names[name] = getattr(others[home], name)
        names.update(constants)
        self.__dict__ = names
