"""Actors in this process, in the place of Ray's; they die when a test says."""

from collections import Counter

import roll_vec
from roll_vec.joined.host import Host
from roll_vec.joined.messages import ActorDiedError, pack, unpack
from roll_vec.joined.shards import join_actors
from tests.contract.cases import assert_same


class LocalActors:
    """Actors that answer in the calling thread.

    `deaths` has, by part and number of a message, the time when the actor dies:
    ``"early"``, before it executes the message, or ``"late"``, when the reply is lost;
    with ``"slow"`` its reply is not there in time.  Messages are counted from 0 over
    all lives of a part.
    """

    def __init__(self, make_batch, sizes, options, deaths=()):
        self.make_batch, self.sizes, self.deaths = pack(make_batch), sizes, dict(deaths)
        self.counts, self.starts = Counter(), Counter()
        # The part of each message, the name of the call, and what is restored.
        self.messages = []
        self.hosts, self.replies = {}, {}
        self.is_closed = False
        # Called before each reply is taken.
        self.before_result = None

    def start(self, part):
        self.starts[part] += 1
        first = sum(self.sizes[:part])
        self.hosts[part] = Host(unpack(self.make_batch), self.sizes[part], first)

    def submit(self, part, message):
        ticket, parsed = len(self.messages), unpack(message)
        self.messages.append((part, unpack(parsed.call).name, parsed.restore))
        when = self.deaths.get((part, self.counts[part]))
        self.counts[part] += 1
        self.replies[ticket] = ActorDiedError("killed by the test")
        if self.hosts.get(part) is None or when == "early":
            self.kill(part)
            return ticket
        reply = self.hosts[part].answer(message)
        if when in ("late", "slow"):
            self.kill(part)
        if when != "late":
            self.replies[ticket] = None if when == "slow" else reply
        return ticket

    def result(self, ticket, timeout):
        if self.before_result is not None:
            self.before_result()
        reply = self.replies[ticket]
        if isinstance(reply, Exception):
            raise reply
        return reply

    def kill(self, part):
        self.hosts[part] = None

    def close(self):
        for host in self.hosts.values():
            if host is not None:
                host.close()
        self.is_closed = True


def make_env(id, num_envs, num_shards, *, deaths=(), **keywords):
    """Return a joined batch over actors of this process."""

    def make_actors(*arguments):
        return LocalActors(*arguments, deaths)

    return join_actors(make_actors, id, num_envs, num_shards, keywords)


def make_local(id, num_envs, **keywords):
    """Return one undivided batch."""
    if isinstance(id, str):
        return roll_vec.make_vec(id, num_envs, **keywords)
    return roll_vec.PoolVectorEnv([id] * num_envs, **keywords)


def make_pair(id, num_envs, num_shards, *, seed=0, deaths=(), shards=None, **keywords):
    """Return a batch over shards and a local one; their resets are equal.

    `shards` has the keywords of the former alone.
    """
    own = {"deaths": deaths, **(shards or {})}
    sharded = make_env(id, num_envs, num_shards, **own, **keywords)
    local = make_local(id, num_envs, **keywords)
    assert_same(sharded.reset(seed=seed), local.reset(seed=seed))
    return sharded, local


def actors_of(env):
    return env.parts[0]._actors


def restarts_of(env):
    return sum(part.restarts for part in env.parts)


def pids_of(env):
    return [part.pid for part in env.parts]
