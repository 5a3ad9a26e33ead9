"""A batch of batches: several `RollVectorEnv` as one vector environment.

Each part is a whole batch, in this process or in an actor of Ray (extra ``ray``).
Parts of this process join several games behind one text space.  Actors are the shards
of one large batch, on this machine or on others.  A part runs `step`, `reset`,
`unroll`, `get_state` and `set_state` whole, with its autoreset::

    the program
      | actions of all environments     ^ observations, rewards, ends, infos of all
      v                                 |
    JoinedVectorEnv, the head: checks the actions, cuts them, joins the results
      | Call                            | Call
      v                                 v
    RollVectorEnv                     ActorPart: the calls since the last snapshot
                                        | bytes
                                        v
                                      Host, in an actor: a RollVectorEnv

Environments of a group are never split, and environments know nothing of each other.
Therefore the results of shards equal those of one undivided batch, to the bit.

**Errors.**  Errors that are known before move nothing: the head checks actions, seeds,
masks and snapshots of all parts before any part moves.  A call that raises after a part
has moved demands a reset of the whole batch, and so does an interrupt.

**Deaths.**  An `ActorPart` keeps a journal: the last snapshot and the calls since then,
as bytes.  A snapshot comes with each whole reset and every ``snapshot_interval`` steps.
An actor that dies is made anew, goes back to the snapshot, and makes the calls of the
journal again in their order.  So no step is lost and none is made twice.  Snapshots do
not have the effect of `set_attr` and `set_level_options`: the journal keeps all of
these calls.  Where a snapshot fails, the part cannot be restored until a later one
succeeds.  A part that dies and cannot be restored raises a `PartLostError`; the batch
needs a reset then.

Files, in reading order; imports go up the list::

    parts.py        `Call`, and the functions that parts run; their spaces as one
    actors.py       a part in an actor: its two ends, its journal and restarts
    vector_env.py   `JoinedVectorEnv`, the head
    ray_actors.py   Ray: everything that depends on it
    shards.py       `make_shards`: one batch over actors of Ray

The tests have actors in their process in the place of `ray_actors`, and end them at any
message.
"""

from roll_vec.joined.shards import make_shards
from roll_vec.joined.vector_env import JoinedVectorEnv

__all__ = ["JoinedVectorEnv", "make_shards"]
