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
"""
