"""The same worlds beside everyone's versions of numpy, numba and Gymnasium."""
