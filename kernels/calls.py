"""Calls of rules which note the rule and the row where an exception was raised.

A traceback of compiled code has no frames of the functions that led to an exception.
"""

from typing import Any

from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.extending import intrinsic
from numba.core.imputils import fix_returning_optional

from ._jit import IS_COMPILED

BEGIN, STEP, OBSERVE, LEGAL = range(4)


@intrinsic
def _call_compiled(typing_context, number, marks, i, rule, arguments):
    own: Any = rule.get_call_type(typing_context, arguments.types, {})

    def lower(context, builder, sig, args):
        compiled = rule.dispatcher.overloads[own.args]
        context.add_linking_libs([compiled.library])
        values = [
            context.cast(builder, value, source, target)
            for value, source, target in zip(
                cgutils.unpack_tuple(builder, args[4], len(own.args)),
                arguments.types,
                own.args,
                strict=True,
            )
        ]
        status, result = context.call_internal_no_propagate(
            builder, compiled.fndesc, own, values
        )
        with cgutils.if_unlikely(builder, status.is_error):
            code = context.cast(builder, args[0], number, types.int64)
            code = builder.sub(context.get_constant(types.int64, -1), code)
            code = context.cast(builder, code, types.int64, marks.dtype)
            data = context.make_array(marks)(context, builder, args[1]).data
            row = context.cast(builder, args[2], i, types.intp)
            builder.store(code, builder.gep(data, [row]))
            context.call_conv.return_status_propagate(builder, status)
        return fix_returning_optional(context, builder, own, status, result)

    return own.return_type(number, marks, i, rule, arguments), lower


def _call_plain(number, marks, i, rule, arguments):
    try:
        return rule(*arguments)
    except Exception:
        marks[i] = -1 - number
        raise


OUTCOME = "reward, terminated, or reward, terminated, truncated"
_PAIR, _TRIPLE = 2, 3


@intrinsic
def _complete_compiled(typing_context, outcome):
    values: Any = getattr(outcome, "type", outcome)  # of an optional tuple
    items = getattr(values, "types", ())
    if len(items) not in (_PAIR, _TRIPLE):
        message = f"step: expected {OUTCOME} as its return value, got {outcome}"
        raise TypingError(message)
    result = types.Tuple((*items, types.boolean)[:_TRIPLE])

    def lower(context, builder, sig, args):
        parts = cgutils.unpack_tuple(builder, args[0], len(items))
        if len(parts) == _PAIR:
            parts.append(context.get_constant(types.boolean, False))
        return context.make_tuple(builder, result, parts)

    return result(values), lower


def _complete_plain(outcome):
    return outcome if len(outcome) == _TRIPLE else (*outcome, False)


complete: Any = _complete_compiled if IS_COMPILED else _complete_plain
"""Return what a rule ``step`` has returned, with False where nothing is truncated."""

call_rule: Any = _call_compiled if IS_COMPILED else _call_plain
"""Return ``rule(*arguments)``; ``marks[i]`` is ``-1 - number`` where it raises."""
