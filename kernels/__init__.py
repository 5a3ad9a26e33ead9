"""Compiled kernels: arrays in, arrays out.

Rules of the layer
------------------
- Imports from outside are numpy, numba and the standard library.  Imports inside are
  relative.
- A kernel writes into arrays that its caller owns: C order, fixed dtype, last in the
  argument list.  A step of a batch may allocate scratch arrays of a few bytes a row
  (``@kernel(allocates=True)``); larger scratch memory is a workspace, which the caller
  makes once and passes in.
- A kernel raises nothing and prints nothing.  A failure is a code in a status array.
- Row i of the results is a function of row i of the inputs.  A kernel whose work is
  worth several threads takes ``start, stop`` first and works on that range of rows;
  it releases the GIL.
- The rule of a game stands in its class, `roll_vec.envs`, for one row.  `families`
  makes the kernels of all rows from it.  A tuned step of a game is a second form of its
  rule; tests compare the two bit by bit.
- Compiled kernels are cached outside the package, in a folder named by the digest of
  all files here (`_cache`): an edit of any file compiles all kernels anew, so machine
  code of an older helper cannot survive.

Words
-----
A *row* is one environment of a batch.  *Read*, *written* and *updated* say what a
kernel does to an array.  ``(n,)`` is a shape; ``rows : (m,) int64`` are row numbers.

Tricks that several files use
-----------------------------
The figures are those of a step of 4096 Sokoban rooms where nothing else is said.  Each
pair is before and after one change: do not compare pairs.

Branch-free code
    A branch on a random action or cell is mispredicted, which costs as much as all of
    the step.  So kernels look codes up in small tables, add products with 0 or 1, and
    write a cell that stays as it is.  LLVM may turn ``a if condition else b`` into a
    branch: measure.  Tables: 4.6 ns a row, with ``if`` 7.9.

Passes over all rows
    A step of a batch is split into loops that go over all rows, one after the other.
    A loop without look-ups becomes vector instructions, and the loop with look-ups
    overlaps those of several rows.  Two passes: 5.4 ns a row, one loop: 6.7.  The
    first pass leaves its results in an array that the last one writes.

Unsigned indices
    ``for i in range(np.uint64(start), np.uint64(stop))``: numba tests each signed index
    for being negative, as -1 is the last item.  Signed indices: 11.5 ns a row instead
    of 6.1.  An int64 and a uint64 together give a float64, so files that compute with
    uint64 have their constants as uint64, too (``_1 = np.uint64(1)``).

An array and a row number
    Scalar functions take the arrays of the whole batch and a row number i, never a view
    of one row: making a view counts a reference, as dear as the step itself where the
    compiler cannot remove it.

Reference counts
    In a kernel that allocates, numba counts a reference, with an atomic instruction, of
    each array that is passed to a function or read out of a named tuple, unless the
    function is inlined.  Two functions of 16 arrays in an unroll's loop over steps:
    26 ns a step instead of 11.  So such kernels read arrays out of named tuples before
    their loops, and functions called in a loop take few arrays, on every path.

    All other kernels are compiled without references (numba's option ``_nrt=False``):
    Python holds the arrays during the call.  A call of ten arrays takes 0.50 us instead
    of 0.86, a room of 6x6 11 % less, and compiling a tenth less.  Where such a kernel
    makes an array after all, numba says "NRT required but not enabled": also in
    ``a[:] = b``, which copies ``b`` first, as the two may overlap; write a loop.

Two forms of a kernel
    Python calls one form; kernels call another one, without the code that converts
    Python's objects and without a file in the cache.  It is compiled once for an int,
    also where the source has a number: ``f(x, 4)`` and ``f(x, 5)`` are two signatures
    to numba.  So a new game's first call takes half the time, see `_jit`.  The second
    form is no machine code, but a part of that of the first, see `_lean_compiler`.

Narrow rows
    A rule is compiled for a row that has the variables and options alone which it, and
    the rules that it calls, mention.  Options are values of the row, no constants.  So
    a helper of a base has the same types in each of its games, and its code has one
    name: a digest of the rule and of what it reads.  `_cache` stores this code, and
    another game loads it: MiniGrid's MultiRoom after DoorKey takes half of the time to
    compile.  A mistake is compiled again for whole rows: its message names all.

Parts
    A large rule is optimised and emitted once: kernels call its machine code.  The file
    of a kernel holds the parts that it calls, so that it needs no other file.  LLVM
    would not inline functions of this size.  Where a call is frequent and the function
    small, a part costs: a draw of an integer as a part made steps 7 % slower, and so
    its rare half is one.  See `_lean_compiler`.

None as a type
    ``if workspace is None``: numba compiles only the branch that the type of the
    argument leaves.  So room generation for small rooms leaves out the search for large
    ones, a third of the time to compile it.

Plain tuples at the border
    ``named = variables_type(*variables)``: Python passes a plain tuple of arrays, and
    the kernel gives names to its items.  numba finds the type of a plain tuple in C but
    that of a named one in Python: two named tuples of ten arrays take 1.8 us to pass,
    two plain ones 1.0 us, the same as ten arguments.

ORed sign bits
    ``signs |= (value - low) | (high - value)`` is negative if any value is out of
    range.  The loop becomes vector instructions: 0.38 ns a value, 0.49 with a bool,
    0.61 with an early return.

First action
    Actions of a batch begin at ``first_action``: 0 or 1 for ROLL's and Gymnasium's
    codes.  Kernels add the difference where they read an action.  A pass of its own
    over the actions would read and write eight bytes a row and step.

Steps outside, rows inside
    An unroll works as if the step of the batch were called T times::

                 row 0   1   2  ...  n-1
        step 0    ------------------->     rewards[0], ... are written side by side
        step 1    ---------->  x           x: an episode ends; the row stops until the
          :                                caller has reset it and calls again
        step T-1

    The other way round the results of a row are a column, whose cells share a set of
    the cache where n is a power of two: 3 to 8 times slower at n = 4096.
"""
