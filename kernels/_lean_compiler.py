"""Numba's compiler for kernels, without the work that they do not need.

numba optimises each function, and emits machine code for it, also where it is only
called by others, whose code it becomes a part of: nine of ten functions here.  With
`CalleeCompiler` such a function is neither optimised nor emitted; the kernel that
Python calls is optimised once, with all that it calls.  Some passes over the source are
left out.  The first reset and step of Sokoban take a third less of the processor's time
so, and all results are the same.

The hazard: these are subclasses of classes that are no interface of numba.  With a
version that was not tried `_compiler` has numba's compiler in their place.  Nothing of
numba is replaced: other functions of the process are compiled as ever.
"""

import ctypes

from numba._dynfunc import make_function
from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.compiler import Compiler, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.runtime.nrt import rtsys
from numba.core.typed_passes import AnnotateTypes, InlineOverloads, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes


class HashedFlags(Flags):
    """Options of a compilation whose hash is computed once, not at each type."""

    __slots__ = ("_hash", "_key")

    def __init__(self, copy_from=None):
        super().__init__(copy_from)
        self._key = None

    def __hash__(self):
        if self._key != self._values:
            self._key, self._hash = dict(self._values), super().__hash__()
        return self._hash

    def __eq__(self, other):
        if isinstance(other, HashedFlags) and self._values == other._values:
            return True
        return super().__eq__(other)


class _KernelLibrary(JITCodeLibrary):
    """The code of a kernel, which is optimised as a whole and not before.

    Functions of other libraries are internal to it, so that LLVM moves those with one
    caller into it, and drops arguments that they do not use: a rule gets a row as some
    forty.  A step of MiniGrid takes a fifth less so, and a reset a tenth.
    """

    _own_names: tuple[str, ...] = ()

    def _optimize_functions(self, ll_module):
        ll_module.data_layout = self._codegen._data_layout
        own = [each.name for each in ll_module.functions if not each.is_declaration]
        self._own_names = (*self._own_names, *own)

    def _optimize_final_module(self):
        for each in self._final_module.functions:
            if not (each.is_declaration or each.name in self._own_names):
                each.linkage = "internal"
        super()._optimize_final_module()


class _CalleeLibrary(_KernelLibrary):
    """Code that is optimised and emitted as a part of the kernels that call it.

    Attributes
    ----------
    is_emitted : bool
    """

    is_emitted = False

    def add_linking_library(self, library):
        """Add the code of a function that this one calls, but not numba's runtime.

        Each kernel has that.
        """
        if library is not rtsys.library:
            super().add_linking_library(library)

    def finalize(self):
        """Link the code with that of functions that it calls."""
        names = [each.name for each in self._final_module.global_variables]
        self.is_emitted = any(name.startswith(RuntimeLinker.PREFIX) for name in names)
        if self.is_emitted:
            # It calls itself, by its address.
            super().add_linking_library(rtsys.library)
        super().finalize()

    def _optimize_final_module(self):
        if self.is_emitted:
            super()._optimize_final_module()

    def _finalize_final_module(self):
        if self.is_emitted:
            super()._finalize_final_module()
        else:
            self._finalize_dynamic_globals()
            self._finalized = True


class _LibraryChoice(LoweringPass):
    """Choose the class of the code that the next pass makes."""

    _library_class = _KernelLibrary

    def __init__(self):
        LoweringPass.__init__(self)

    def run_pass(self, state):
        """Make the library, as numba's pass would."""
        codegen = state.targetctx.codegen()
        state.library = self._library_class(codegen, state.func_id.func_qualname)
        state.library.enable_object_caching()
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class _UseKernelLibrary(_LibraryChoice):
    _name = "use_kernel_library"


@register_pass(mutates_CFG=False, analysis_only=False)
class _UseCalleeLibrary(_LibraryChoice):
    _name, _library_class = "use_callee_library", _CalleeLibrary

    def run_pass(self, state):
        """Make the library, and a function in the place of its machine code."""
        # A copy of numba's, of this compilation.
        context = state.targetctx
        emit = context.get_executable

        def get_executable(library, fndesc, env):
            library._ensure_finalized()
            if library.is_emitted:
                return emit(library, fndesc, env)
            address = ctypes.cast(
                ctypes.pythonapi.PyErr_BadInternalCall, ctypes.c_void_p
            )
            name = fndesc.qualname.split(".")[-1]
            return make_function(
                fndesc.lookup_module(), name, "", address.value, env, (library,)
            )

        context.get_executable = get_executable
        return super().run_pass(state)


class KernelCompiler(Compiler):
    """The compiler of a kernel that Python calls.

    Attributes
    ----------
    unused : tuple of classes
        Passes of numba that are left out: kernels have no closures, and no expressions
        of arrays.
    """

    unused: tuple[type, ...] = InlineClosureLikes, InlineOverloads, NopythonRewrites
    _choice: type = _UseKernelLibrary

    def define_pipelines(self):
        """Return numba's passes that are needed, and the choice of the library."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes = [each for each in manager.passes if each[0] not in self.unused]
        manager.passes = passes
        manager.add_pass_after(self._choice, AnnotateTypes)
        manager.finalize()
        return [manager]


class CalleeCompiler(KernelCompiler):
    """The compiler of a function that kernels call, and Python does not."""

    _choice = _UseCalleeLibrary
