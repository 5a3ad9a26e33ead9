"""A batch of batches: several `RollVectorEnv` as one vector environment.

Each part is a whole batch, in this process or in an actor of Ray (extra ``ray``).
Parts of this process join several games behind one text space.  Actors are the shards
of one large batch, on this machine or on others.  A part runs `step`, `reset`,
`unroll`, `get_state` and `set_state` whole, with its own autoreset.  The head cuts the
actions and joins the results, and does nothing else::

    head (JoinedVectorEnv)              parts
    - checks the actions of all
    - cuts them          --- begin -->  step, here or in an actor
    - joins the results  <--- end ----  observations, rewards, ends, infos

Environments of a group are never split, and environments know nothing of each other.
Therefore the results of shards equal those of one undivided batch, to the bit.

**Errors.**  Errors that are known before move nothing: the head checks actions, seeds,
masks and snapshots of all parts before any part moves.  A call that raises after a part
has moved demands a reset of the whole batch, and so does an interrupt.

**Deaths.**  The head keeps a journal for each actor: its last snapshot and the calls
since then, as bytes.  An actor that dies is made anew, and makes the calls of the
journal again in their order, of which the first goes back to the snapshot.  So no step
is lost and none is made twice.  A snapshot is asked for with each whole reset and every
``snapshot_interval`` steps.  Where a snapshot fails, the journal begins anew without
one, and the part cannot be restored until a later one succeeds.  So the memory of a
part is a snapshot and the actions of one interval.  A part that dies and cannot be
restored raises a `PartLostError`; the batch needs a reset then.

Files, in reading order; imports go up the list::

    calls.py        calls; a part of this process
    actors.py       a part in an actor: its two ends, its journal and restarts
    state.py        the snapshot of a batch whose parts differ
    attributes.py   the calls of all parts, and those that move no episode
    vector_env.py   `JoinedVectorEnv`, the head: resets, steps, snapshots
    shards.py       `make_shards`: one batch over actors of Ray
    ray_actors.py   Ray: everything that depends on it

The tests have actors in their own process in the place of `ray_actors`, and end them at
any message.
"""

from roll_vec.joined.shards import make_shards
from roll_vec.joined.vector_env import JoinedVectorEnv

__all__ = ["JoinedVectorEnv", "make_shards"]
