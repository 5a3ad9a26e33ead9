"""Cases that compare roll_vec with other packages, and the table of all cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from benchmarks import own_cases
from benchmarks.comparisons import ALONE, Case, Row
from benchmarks.games import games
from benchmarks.interleave import Contender
from benchmarks.levels import NUM_BOXES, SIZE
from benchmarks.own_cases import FRESH, KEPT, LAKE, own, sized

ALL_SIZES = (1, 16, 256, 1024, 4096, 16384, 65536)


def _peer(task: str, *sizes: int, **options: Any) -> Callable[..., list[Contender]]:
    """Return a function that makes a peer's contenders; a task is ``peer.function``."""
    peer, _, function = task.partition(".")

    def make(
        name: str, engine: str, sizes: Sequence[int], **more: Any
    ) -> list[Contender]:
        module = f"benchmarks.peers.{peer}"
        return sized(
            name, sizes, module=module, task=function, engine=engine, peer=peer, **more
        )

    return make


def steps(quick: bool) -> Case:
    """FrozenLake-v1 beside all peers; Sokoban beside the same SyncVectorEnv."""
    gymnasium, envpool = _peer("gymnasium.steps"), _peer("envpool.steps")
    gymnax = _peer("gymnax.steps")
    sure = {"is_slippery": False, "levels_are": "the 4x4 map, no slips"}
    ruler: dict[str, Any] = {"module": "benchmarks.peers.gymnasium", "task": "ruler"}
    contenders = [
        # First: with an empty cache it compiles longest.
        *sized("kept rooms", [4096], **KEPT),
        *sized("ruled lake", [4096], **ruler, id=f"roll_vec:{LAKE['id']}"),
        *_peer("gymnasium.ruler")(
            "ruled sync", "SyncVectorEnv", [256], id="FrozenLake-v1"
        ),
        *sized("lake", [64, 4096] if quick else ALL_SIZES, **LAKE),
        *gymnasium("sync", "SyncVectorEnv", [256] if quick else ALL_SIZES[:5]),
        *envpool("envpool one", "EnvPool, one core", ALL_SIZES[3 * quick : 6], cores=1),
        *gymnax("gymnax scan", "gymnax, scan", [4096] if quick else [256, 4096, 65536]),
        *sized("fresh rooms", [4096], **FRESH),
    ]
    if not quick:
        large = [4096, 16384, 65536]
        contenders += [
            *gymnasium("async", "AsyncVectorEnv", [1, 16, 64], mode="async"),
            *envpool("envpool async", "EnvPool, async", ALL_SIZES[1:5], mode="async"),
            *envpool("envpools", "EnvPool, each core", [1024, 4096], each_core=True),
            *gymnax("gymnax kept", "gymnax, results kept", large, mode="kept"),
            *gymnax("gymnax step", "gymnax, a call a step", large, mode="step"),
            *gymnax("gymnaxes", "gymnax, scan, each core", large[:2], each_core=True),
            # Without slips: then nearly all of a gymnax step's cost is gone.
            *sized("sure lake", large[1:], **LAKE | sure),
            *gymnax("sure gymnax scan", "gymnax, no slips", large, **sure),
            *gymnax("sure gymnax kept", "the same, kept", large, mode="kept", **sure),
        ]
    rows = [
        Row("FrozenLake-v1 beside SyncVectorEnv", "lake 4096", "sync ", 600),
        Row("Sokoban, rooms kept, beside that FrozenLake", "kept", "sync ", 400),
        Row("Sokoban, fresh rooms, beside that FrozenLake", "fresh", "sync ", 60),
        Row(
            "FrozenLake-v1 by Gymnasium's benchmark_vector_step",
            "ruled lake",
            "ruled sync",
        ),
        Row("FrozenLake-v1 beside AsyncVectorEnv", "lake ", "async "),
        Row("FrozenLake-v1 beside EnvPool", "lake ", "envpool ", 40),
        Row("FrozenLake-v1 beside an EnvPool on each core", "lake ", "envpools "),
        Row("FrozenLake-v1 beside gymnax, scanned", "lake ", "gymnax scan"),
        Row("FrozenLake-v1 beside a gymnax on each core", "lake ", "gymnaxes"),
        Row("FrozenLake-v1 beside gymnax, results kept", "lake ", "gymnax kept"),
        Row("FrozenLake-v1 beside gymnax, step by step", "lake ", "gymnax step"),
        Row("no slips, beside gymnax, scanned", "sure lake", "sure gymnax scan"),
        Row("no slips, beside gymnax, results kept", "sure lake", "sure gymnax kept"),
    ]
    plots = ("lake ", "sync ", "async ", "envpool", "gymnax")
    return Case("FrozenLake-v1, 4x4", contenders, rows, plots)


def boxoban(quick: bool, levels: str, levels_are: str) -> Case:
    """Sokoban 10x10 with the same levels for all: their file and its description."""
    envpool, jumanji = _peer("envpool.sokoban"), _peer("jumanji.sokoban")
    ours: dict[str, Any] = {"levels_are": levels_are, "max_episode_steps": 120}
    small, middle = [1, 16, 256, 1024], [256, 1024, 4096]
    contenders = [
        *sized(
            "sokoban",
            [4096] if quick else ALL_SIZES[:-1],
            id=KEPT["id"],
            levels=levels,
            **ours,
        ),
        *jumanji(
            "jumanji scan",
            "Jumanji, scan",
            [4096] if quick else middle,
            levels=levels,
        ),
        *envpool(
            "envpool async",
            "EnvPool, async",
            [256] if quick else small[1:],
            mode="async",
        ),
    ]
    if not quick:
        name = "Jumanji, a call a step"
        each = {"levels": levels, "each_core": True}
        contenders += [
            *envpool("envpool one", "EnvPool, one core", small, cores=1),
            *jumanji("jumanji step", name, [256, 4096], levels=levels, mode="step"),
            *jumanji("jumanjis", "Jumanji, scan, each core", [4096], **each),
        ]
    rows = [
        Row("Sokoban, levels of Boxoban, beside EnvPool", "sokoban ", "envpool ", 100),
        Row("Sokoban beside Jumanji, scanned", "sokoban ", "jumanji scan ", 20),
        Row("Sokoban beside Jumanji, step by step", "sokoban ", "jumanji step "),
        Row("Sokoban beside a Jumanji on each core", "sokoban ", "jumanjis "),
    ]
    title = f"Sokoban, {SIZE}x{SIZE}, {NUM_BOXES} boxes"
    return Case(title, contenders, rows, ("",))


def pufferlib(quick: bool, levels: str, levels_are: str, checkout: str) -> Case:
    """Sokoban 10x10 beside PufferLib's Boxoban in C, of --pufferlib PATH."""
    sizes = [4096] if quick else [256, 1024, 4096, 16384]
    theirs = {"task": "boxoban", "engine": "PufferLib's C", "levels": levels}
    theirs |= {"checkout": checkout, "limit": 120}
    ours = {"id": KEPT["id"], "levels": levels, "levels_are": levels_are, "copy": False}
    contenders, rows = [], []
    for cores in ({"cores": 1}, {"each_core": True}):
        # With all cores a process on each, as PufferLib's own trainer may run it.
        where = "one core" if "cores" in cores else "a process a core"
        name = f"C, {where}"
        contenders += sized(
            name, sizes, "benchmarks.peers.pufferlib", **theirs, **cores
        )
        for mode in ("grid", "planes4"):
            side = f"{mode}, {where}"
            more = {"obs_mode": mode, "max_episode_steps": 120, "num_threads": 1}
            contenders += sized(side, sizes, **ours, **more, **cores)
            for n in sizes:
                title = f"{mode}, {n:,} environments: {where}"
                # With a full stop: a name must not begin another one.
                rows.append(Row(title, f"{side} {n}.", f"{name} {n}."))
    contenders = [replace(one, name=f"{one.name}.") for one in contenders]
    return Case(f"Sokoban, {SIZE}x{SIZE}, beside C", contenders, rows)


def rooms(quick: bool) -> Case:
    """Rooms drawn on one thread."""
    contenders, rows = [], []
    # As many rooms of gym-sokoban as take a second or two.
    for n, count in {1: 200, 2: 100, 3: 50}.items():
        room = {"size": 6, "num_boxes": n, "cores": 1}
        contenders += [
            own(f"ours {n}", "batches.rooms", **room),
            own(
                f"gym-sokoban {n}",
                "peers.gym_sokoban.rooms",
                engine="gym-sokoban",
                peer="gym_sokoban",
                count=count,
                **room,
            ),
        ]
        title = f"rooms, 6x6, {n} box{'es' * (n > 1)}, beside gym-sokoban"
        target = 1000.0 if n == 3 else None
        rows.append(Row(title, f"ours {n}", f"gym-sokoban {n}", target))
    # Some rooms take a hundred times as long as most: a batch pays the mean.
    for statistic in ("median", "mean"):
        large = {"size": 10, "num_boxes": 4, "cores": 1, "patience": 4.0}
        name = f"large, {statistic}"
        contenders.append(own(name, "batches.room_times", statistic=statistic, **large))
        rows.append(Row(f"a room, 10x10, 4 boxes, the {statistic}", name, "", 5, ALONE))
    return Case("Rooms", contenders, rows)


def texts(quick: bool) -> Case:
    """Countdown, the pool and the parser."""
    sync = {"engine": "SyncVectorEnv of ours"}
    theirs = {"engine": "reasoning-gym", "peer": "reasoning_gym"}
    slow = {"num_envs": 64, "wait": 0.01}
    contenders = [
        own("our tasks", "countdown.tasks"),
        own("our scores", "countdown.scores"),
        own("our episodes", "countdown.episodes", num_envs=1024),
        own("sync episodes", "countdown.episodes", num_envs=1024, sync=True, **sync),
        own("their tasks", "peers.reasoning_gym.tasks", **theirs),
        own("their scores", "peers.reasoning_gym.scores", **theirs),
        own("our pool", "texts.pool", num_envs=256, workers=0),
        own("sync pool", "texts.pool", num_envs=256, **sync),
        own("waiting, threads", "texts.pool", **slow, workers=64),
        own("waiting, none", "texts.pool", **slow, workers=0),
        own("our parser", "texts.parse"),
        own("plain parser", "texts.parse", engine="a regex", plainly=True),
    ]
    rows = [
        Row("Countdown, tasks, beside reasoning-gym", "our t", "their t", 100),
        Row("Countdown, scores, beside reasoning-gym", "our s", "their s", 60),
        Row("Countdown, episodes, beside SyncVectorEnv", "our e", "sync e"),
        Row("a pool without workers beside SyncVectorEnv", "our pool", "sync pool", 1),
        Row("64 that wait: threads beside none", "waiting, t", "waiting, n", 30),
        Row("answers parsed, beside a plain regex", "our parser", "plain parser"),
    ]
    return Case("Texts", contenders, rows)


# By name.  `boxoban` needs its levels as more arguments.
CASES: dict[str, Callable[..., Case | list[Case]]] = {
    "steps": steps,
    "boxoban": boxoban,
    "pufferlib": pufferlib,
    "rooms": rooms,
    "texts": texts,
    "games": games,
    **own_cases.CASES,
}
QUICK = ("steps", "boxoban", "forms")
# The cases of a run that names none; the others take long, or are for developers.
DEFAULT = tuple(name for name in CASES if name not in own_cases.ON_REQUEST)
