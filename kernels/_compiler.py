"""The compilers of kernels: those of `._lean_compiler`, or numba's."""

from typing import Any

import numba
from numba.core.compiler import Compiler, Flags

KernelCompiler: Any = Compiler
CalleeCompiler: Any = Compiler
PartCompiler: Any = Compiler
HashedFlags: Any = Flags
# The module that stores callees, and parts of kernels; None: there are none.
stored: Any = None

# The versions of numba that the lean compiler was tried with.
if (0, 61) <= numba.version_info[:2] <= (0, 68):
    from . import _lean_compiler as lean

    KernelCompiler, CalleeCompiler = lean.KernelCompiler, lean.CalleeCompiler
    PartCompiler, HashedFlags = lean.PartCompiler, lean.HashedFlags
    stored = lean
