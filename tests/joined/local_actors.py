"""Actors in this process, in the place of Ray's; they die when a test says."""

from collections import Counter
from unittest import mock

import roll_vec
from roll_vec.joined import make_shards
from roll_vec.joined.actors import ActorDiedError, Host, unpack
from tests.contract.cases import assert_same


class LocalActors:
    """Starts actors that answer in the calling thread, in the place of `connect`.

    `deaths` has, by part and number of a message, the time when the actor dies:
    ``"early"``, before it executes the message, or ``"late"``, when the reply is lost;
    with ``"slow"`` its reply is not there in time.  Messages are counted from 0 over
    all lives of a part.
    """

    def __init__(self, deaths=()):
        self.deaths = dict(deaths)
        self.counts, self.parts, self.actors = Counter(), {}, {}
        # The part of each message, and the name of the call.
        self.messages = []
        # Called before each reply is read.
        self.before_result = None

    def __call__(self, actor_options):
        return self.start

    def start(self, make_batch, first_env_id):
        part = self.parts.setdefault(first_env_id, len(self.parts))
        host = Host(make_batch, first_env_id)
        self.actors[part] = LocalActor(self, part, host)
        return self.actors[part]


class LocalActor:
    def __init__(self, actors, part, host):
        self.actors, self.part, self.host = actors, part, host

    def submit(self, message):
        actors, part = self.actors, self.part
        actors.messages.append((part, unpack(unpack(message)[1]).name))
        when = actors.deaths.get((part, actors.counts[part]))
        actors.counts[part] += 1
        self.reply, self.reason = None, "killed by the test"
        if when == "early":
            self.kill()
        if self.host is None:
            return
        reply = self.host.answer(message)
        if when:
            self.kill()
            self.reason = f"{self.reason}, {when}"
        else:
            self.reply = reply

    def result(self, timeout):
        if self.actors.before_result is not None:
            self.actors.before_result()
        if self.reply is None:
            raise ActorDiedError(self.reason)
        return self.reply

    def kill(self):
        if self.host is not None:
            self.host.close()
        self.host = None


def make_env(id, num_envs, num_shards, *, deaths=(), **keywords):
    """Return a joined batch over actors of this process."""
    with mock.patch("roll_vec.joined.shards.connect", LocalActors(deaths)):
        return make_shards(id, num_envs, num_shards, **keywords)


def make_local(id, num_envs, **keywords):
    """Return one undivided batch."""
    if isinstance(id, str):
        return roll_vec.make_vec(id, num_envs, **keywords)
    return roll_vec.PoolVectorEnv([id] * num_envs, **keywords)


def make_pair(id, num_envs, num_shards, *, seed=0, deaths=(), shards=None, **keywords):
    """Return a batch over shards and a local one; their resets are equal.

    `shards` has the keywords of the former alone.
    """
    options = {"deaths": deaths, **(shards or {})}
    sharded = make_env(id, num_envs, num_shards, **options, **keywords)
    local = make_local(id, num_envs, **keywords)
    assert_same(sharded.reset(seed=seed), local.reset(seed=seed))
    return sharded, local


def actors_of(env):
    return env.parts[0]._actor.actors


def kill(env, part):
    """Let the actor of a part die."""
    actors_of(env).actors[part].kill()


def restarts_of(env):
    return sum(part.restarts for part in env.parts)


def pids_of(env):
    return [part.pid for part in env.parts]
