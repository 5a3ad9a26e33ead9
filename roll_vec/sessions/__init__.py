"""Sessions: independent callers, each with an environment of one batch.

A server or a trainer often has many callers, each with its episode and its pace.  Here
they share one vector environment::

    sessions = Sessions(roll_vec.make_vec(id, 512, autoreset_mode="Disabled"))
    session = sessions.open()                 # one caller, one environment
    observation, info = session.reset(seed=7)
    observation, reward, terminated, truncated, info = session.step(action)
    session.close()                           # the environment is free again

A session returns what a single environment of `gymnasium.make` returns.  Other sessions
have no effect on it.

Micro-batches: calls that arrive while a batch runs wait, and all of them are the next
batch.  Nobody waits for a fixed time, and coroutines need no threads::

    thread A   step ─▶ runs [A] ───────╮ hands over to B
    thread B      step ─▶ waits ───────┴▶ runs [B, C] ─▶ result
    task C           step_async ─▶ waits ··············▶ result

A pool with workers has no batches: each step starts at once and ends when it is done,
so that a slow environment holds up nobody else.

The files, in reading order:

- ``sessions.py``: `Sessions` and `Session`, the public classes
- ``calls.py``: one call of a session, for which its caller waits
- ``call_queue.py``: the calls that wait, and the batches that are made of them
- ``env_rows.py``: makes the calls on the engine of a batch
- ``free_rows.py``: the environments that no session has, and the callers that wait
"""

from __future__ import annotations

from roll_vec.sessions.sessions import Session, Sessions

__all__ = ["Session", "Sessions"]
