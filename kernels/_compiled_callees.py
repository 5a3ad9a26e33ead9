"""Functions that kernels call: `Callee`, and `RuleCallee` of rules of games."""

from typing import Any

from numba.core import types
from numba.core.errors import NumbaError
from numba.core.extending import models, register_model
from numba.core.imputils import lower_constant
from numba.core.registry import CPUDispatcher

from ._cache import FOLDER, CalleeCache
from ._compiler import HashedFlags


class _CalleeType(types.Dispatcher):
    """The type of a callee: a name for it, and nothing at run time.

    numba's has the address of a dispatcher, which is that of one process.
    """


register_model(_CalleeType)(models.OpaqueModel)


@lower_constant(_CalleeType)
def _lower_callee(context, _builder, _callee, _value):
    return context.get_dummy_value()


class Callee(CPUDispatcher):
    """A kernel as other kernels call it: Python cannot.

    It has no code that converts Python objects, and it is part of the machine code of
    each kernel that calls it.  What several games call is stored in this form, too.

    Parameters
    ----------
    owner : roll_vec.kernels._jit._Kernel
    compiler : type
    is_shared : bool
        Kernels of several games call it, and its name and types tell its code apart: it
        is stored.
    """

    def __init__(self, owner, compiler, is_shared):
        options = {**owner.targetoptions, "no_cpython_wrapper": True}
        super().__init__(owner.py_func, {}, options, compiler)
        self._compiler._customize_flags = HashedFlags  # type: ignore[attr-defined]
        self._owner_overloads = owner.overloads
        if is_shared:
            self._cache = CalleeCache(owner.py_func, FOLDER)

    def get_call_template(self, args, kws):
        """Return the signature for a call with arguments of these types.

        An int of the source has a separate type, for which numba would compile the
        kernel once more: ``mt_randbelow`` four times.  A kernel that Python has
        called is not compiled again.
        """
        every = self._narrow(tuple(map(types.unliteral, (*args, *dict(kws).values()))))
        args, kws = every[: len(args)], dict(zip(kws, every[len(args) :], strict=True))
        if args not in self.overloads and args in self._owner_overloads:
            self.add_overload(self._owner_overloads[args])
        return super().get_call_template(args, kws)

    @property
    def _numba_type_(self):
        """The type of this function in kernels."""
        return _CalleeType(self)

    def _narrow(self, args):
        """Return the types of arguments for which the function is compiled."""
        return args


class _Failures(dict[Any, Any]):
    """Errors of compilations by types, and by whether rows are narrowed."""

    def __getitem__(self, key):
        return super().__getitem__((key, RuleCallee.narrows))

    def __setitem__(self, key, error):
        super().__setitem__((key, RuleCallee.narrows), error)


class RuleCallee(Callee):
    """A rule as kernels call it: rows have the names alone that it uses.

    Attributes
    ----------
    narrows : bool or None
        Of all rules, while numba's lock is held: whether rows are narrowed; None while
        no rule is compiled.
    """

    narrows: bool | None = None

    def __init__(self, owner):
        from ._compiled_rows import PartRuleCompiler, RuleCompiler, narrow

        is_shared = owner.digest != ""
        # A step of CartPole takes 24 ns, and 26 if it is called.
        may_be_part = is_shared and owner.py_func.__name__ != "step"
        compiler = PartRuleCompiler if may_be_part else RuleCompiler
        super().__init__(owner, compiler, is_shared)
        self._compiler._failed_cache = _Failures()  # type: ignore[attr-defined]
        self._names, self._narrow_rows = owner.names, narrow

    def get_call_template(self, args, kws):
        """Return the signature for a call with arguments of these types.

        What cannot be compiled is tried with whole rows: so the message names all that
        they have, and a rule may do what its names do not tell, as to return a row.
        """
        if RuleCallee.narrows is not None:  # a rule calls this one
            return super().get_call_template(args, kws)
        try:
            RuleCallee.narrows = bool(self._names)
            return super().get_call_template(args, kws)
        except NumbaError:
            RuleCallee.narrows = False
            # Calls that have failed, which numba would not try again.
            getattr(self.typingctx.callstack, "_fail_cache", {}).clear()
            return super().get_call_template(args, kws)
        finally:
            RuleCallee.narrows = None

    def _narrow(self, args):
        return self._narrow_rows(args, self._names) if self.narrows else args
