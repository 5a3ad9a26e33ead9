"""Compiled kernels: arrays in, arrays out.

The layer's rules:

- numpy and numba are the only imports from outside; relative imports inside.
- A kernel writes into arrays that its caller owns (C order, fixed dtype, last in
  the argument list).  It allocates nothing, raises nothing and prints nothing;
  a failure is a code in a status array.
- Batch kernels take ``start, stop`` first and work on that range of rows, so that
  the layer above can split a batch over threads (``nogil``).  Row i is a function
  of row i's inputs alone.
- Rules of one environment stand once, in scalar functions of one row; the batch
  kernels loop over them and the single environments call them directly.
- Compiled kernels are cached outside the package, in a folder named by the digest
  of all files here (``_cache.py``): an edit of any of them compiles all anew, and
  machine code of an older helper cannot survive.

Tricks that several files use
-----------------------------
Plain tuples at the border
    ``rooms = RoomState(*rooms)``: Python passes a plain tuple of arrays, and the kernel
    gives names to its items.  numba finds the type of a plain tuple in C but that of a
    named one in Python: two named tuples of ten arrays take 1.8 us to pass, two plain
    ones 1.0 us, the same as ten arguments.  A step of one environment takes 8 us.
"""
