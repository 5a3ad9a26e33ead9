"""One batch of environments of several families.

Some environments are Sokoban, some lakes, some WebShop, some Countdown, some a user's
own.  All of them observe and act by text.

Files, in reading order:

- ``factories.py``: `make_mixed`
- ``allocation.py``: the number of environments of each family
- ``vector_env.py``: `MixedVectorEnv`
- ``engine.py``: one engine over the engines of the families
- ``steps.py``: steps of some environments, as `send` and `recv` need them

`roll_vec.vector.composite` has what engines over parts share,
`roll_vec.vector.columns` their snapshots.
"""

from roll_vec.mixed.engine import Family
from roll_vec.mixed.factories import make_mixed
from roll_vec.mixed.vector_env import MixedVectorEnv

__all__ = ["Family", "MixedVectorEnv", "make_mixed"]
