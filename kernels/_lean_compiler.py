"""Numba's compiler for kernels, without the work that they do not need.

numba optimises each function, and emits machine code for it, also where it is only
called by others, whose code it becomes a part of: nine of ten functions here.  With
`CalleeCompiler` such a function is neither optimised nor emitted; the kernel that
Python calls is optimised once, with all that it calls.  Some passes over the source are
left out.  The first reset and step of Sokoban take a third less of the processor's time
so, and all results are the same.

Large rules are the exception, see `PartCompiler`: they are machine code of their own,
which is emitted once for all kernels that call it.

Callees are stored on disk, as bitcode, or as machine code where they are parts, so that
a process need not compile what another one has.  numba tells functions of one name
apart by a number that is one of the process: stored code keeps names that are unique
everywhere, those with the digest of a rule, and all other functions become its own.

The hazard: these are subclasses of classes that are no interface of numba.  With a
version that was not tried `_compiler` has numba's compiler in their place.  Nothing of
numba is replaced: other functions of the process are compiled as ever.
"""

import ctypes
import math
import weakref
from typing import Any

from llvmlite.binding import Linkage, parse_assembly, parse_bitcode
from numba._dynfunc import make_function
from numba.core import types
from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.compiler import Compiler, DefaultPassBuilder, Flags, compile_result
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.environment import Environment, lookup_environment
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
    forty.  A step of MiniGrid takes a tenth less so, and a reset a tenth.

    Attributes
    ----------
    parts : dict of str to _CalleeLibrary
        The large functions that it calls, by their symbols: they have machine code of
        their own.
    """

    _own_names: tuple[str, ...] = ()

    def __init__(self, codegen, name):
        super().__init__(codegen, name)
        self.parts = {}

    def add_linking_library(self, library):
        """Add the code of a function that this one calls."""
        self.parts.update(getattr(library, "parts", {}))
        if getattr(library, "is_part", False):
            self.parts[library.symbol] = library
        else:
            super().add_linking_library(library)

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
    symbol : str
        The function.
    is_emitted : bool
        It has machine code of its own, as it calls itself, or is a part.
    is_large : bool
        It becomes a part, if all that it needs is code.
    is_part : bool
        Kernels call its machine code: it is optimised and emitted once for all.
    machine_code : bytes
        Of a part.
    """

    symbol, is_emitted, is_large, is_part, machine_code = "", False, False, False, b""

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
        if self.is_large and _is_code(self._final_module):
            self.is_part = self.is_emitted = True
            _make_internal(self._final_module, self.symbol)
        if self.is_emitted:
            super()._optimize_final_module()

    def _finalize_final_module(self):
        if self.is_emitted:
            super()._finalize_final_module()
            if self.is_part:
                self.machine_code = self._get_compiled_object()
                _parts[self.symbol] = self
        else:
            self._finalize_dynamic_globals()
            self._finalized = True

    def _get_module_for_linking(self):
        if self.is_part:
            # For libraries of numba, which know nothing of parts.
            return parse_assembly(str(self._codegen._create_empty_module(self.name)))
        return super()._get_module_for_linking()


def _make_placeholder(library, fndesc, env):
    """Return a function in the place of the machine code of a callee."""
    address = ctypes.cast(ctypes.pythonapi.PyErr_BadInternalCall, ctypes.c_void_p)
    name, module = fndesc.qualname.split(".")[-1], fndesc.lookup_module()
    return make_function(module, name, "", address.value, env, (library,))


# ------------------------------------------------------------------ stored code

# The prefix of names of this package, and of those of generators, which are no callees.
_OWN_NAMES = "_ZN8roll_vec"
_GENERATOR_NAMES = "_ZN8roll_vec7kernels3rng"
# Names of callees that are stored, or were loaded: they tell code apart.
_stored_names: set[str] = set()
# The parts of this process, by symbol.
_parts: Any = weakref.WeakValueDictionary()


def _is_code(module):
    """Return whether a module holds nothing that belongs to this process.

    That are addresses, and constants of Python.
    """
    names = [each.name for each in module.global_variables]
    environments = map(lookup_environment, names)
    prefixes = RuntimeLinker.PREFIX, "numba.dynamic.globals"
    has_constants = any(each.consts for each in environments if each)
    return not (has_constants or any(name.startswith(prefixes) for name in names))


def _are_plain(args):
    """Return whether the names of types tell them apart in all processes.

    That of a function has its address; that of a named tuple does not tell its class,
    and that of a class or a module, such as an enumeration, not what is in it.
    """
    for each in args:
        if isinstance(each, (types.BaseNamedTuple, types.Module, types.EnumClass)):
            return False
        if not _are_plain(getattr(each, "types", ())):
            return False
    return " at 0x" not in str(args)


def _make_internal(module, symbol):
    """Make functions a module's own, but for one and those whose names are unique.

    numba's names have a number that tells functions of one process apart.
    """
    for function in module.functions:
        name = function.name
        is_unique = name in _stored_names or name.startswith(_GENERATOR_NAMES)
        if not (function.is_declaration or name == symbol or is_unique):
            function.linkage = "internal"


def reduce_parts(library):
    """Return what `rebuild_parts` needs to make the parts that code calls.

    None if it calls a function of this package that is no part of it.
    """
    parts = getattr(library, "parts", {})
    for each in library._final_module.functions:
        is_own = each.is_declaration and each.name.startswith(_OWN_NAMES)
        if is_own and each.name not in parts:
            return None
    if getattr(library, "is_part", False):
        parts = {**parts, library.symbol: library}
    return [
        (symbol, each.name, each.machine_code, list(each.parts))
        for symbol, each in parts.items()
    ]


def rebuild_parts(codegen, values):
    """Return the stored parts, by symbol; those that the process has stay."""
    parts = {}
    for symbol, name, machine_code, _ in values:
        library = _parts.get(symbol)
        if library is None:
            library = _CalleeLibrary(codegen, name)
            library.symbol, library.is_part, library.is_emitted = symbol, True, True
            library.enable_object_caching()
            library._set_compiled_object(machine_code)
            JITCodeLibrary._finalize_final_module(library)
            library.machine_code = machine_code
        parts[symbol] = library
    for symbol, _, _, names in values:
        parts[symbol].parts = {name: parts[name] for name in names}
    _parts.update(parts)
    return parts


def reduce_callee(result):
    """Return what `rebuild_callee` needs to make a callee, or None if it cannot.

    Parameters
    ----------
    result : CompileResult
    """
    library, fndesc, bitcode = result.library, result.fndesc, b""
    parts = reduce_parts(library)
    if parts is None or not _are_plain(fndesc.argtypes):
        return None
    if not library.is_part:
        module = library._get_module_for_linking().clone()
        if library.is_emitted or result.reload_init or not _is_code(module):
            return None
        _stored_names.add(fndesc.mangled_name)
        _make_internal(module, fndesc.mangled_name)
        bitcode = module.as_bitcode()
    # They are those of the types, and large.
    fndesc.typemap = fndesc.calltypes = None
    return library.name, bitcode, parts, fndesc, result.signature


def rebuild_callee(target_context, name, bitcode, values, fndesc, signature):
    """Return the CompileResult of a stored callee."""
    codegen = target_context.codegen()
    parts = rebuild_parts(codegen, values)
    if bitcode:
        library = _CalleeLibrary(codegen, name)
        library.parts, library._final_module = parts, parse_bitcode(bitcode)
        library._finalize_final_module()
        for function in library._final_module.functions:
            if function.linkage == Linkage.linkonce_odr:
                _stored_names.add(function.name)
    else:
        library = parts[fndesc.mangled_name]
    environment = Environment.from_fndesc(fndesc)
    return compile_result(
        typing_context=target_context.typing_context,
        target_context=target_context,
        entry_point=_make_placeholder(library, fndesc, environment),
        type_annotation="",
        library=library,
        signature=signature,
        objectmode=False,
        lifted=(),
        fndesc=fndesc,
        environment=environment,
        reload_init=(),
        referenced_envs=(),
    )


# ------------------------------------------------------------------ passes


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
            library.symbol = fndesc.mangled_name
            library._ensure_finalized()
            make = emit if library.is_emitted else _make_placeholder
            return make(library, fndesc, env)

        context.get_executable = get_executable
        super().run_pass(state)
        size = sum(len(block.body) for block in state.func_ir.blocks.values())
        is_large = size >= state.pipeline.part_size
        state.library.is_large = is_large and _are_plain(state.args)
        return True


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
    """The compiler of a function that kernels call, and Python does not.

    Attributes
    ----------
    part_size : float
        Functions with so many statements of numba's become parts, see `_CalleeLibrary`.
    """

    part_size = math.inf
    _choice = _UseCalleeLibrary


class PartCompiler(CalleeCompiler):
    """The compiler of a function that kernels call as machine code."""

    part_size = 0
