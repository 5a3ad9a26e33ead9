"""Who meets whom, at which sizes, and which rows come of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.levels import NUM_BOXES, SIZE
from benchmarks.rows import ALONE, COST, NS_MORE, Case, Row
from benchmarks.turns import Contender

# Of a contender itself; all else goes to its task.
_OWN_KEYS = ("cores", "process_per_core", "patience")


def _ours(name: str, task: str, engine: str = "roll_vec", **options: Any) -> Contender:
    """Return one of ours; a task is a module's and a function's name."""
    module, _, function = task.rpartition(".")
    more = {key: options.pop(key) for key in _OWN_KEYS if key in options}
    return Contender(
        name, engine, f"benchmarks.{module or 'ours'}", function, options, **more
    )


def _theirs(name: str, engine: str, task: str, **options: Any) -> Contender:
    """Return a peer's; a task is the peer's and a function's name."""
    peer, _, function = task.partition(".")
    more = {key: options.pop(key) for key in _OWN_KEYS if key in options}
    return Contender(
        name, engine, f"benchmarks.peers.{peer}", function, options, peer, **more
    )


def _steps(
    name: str, id: str, num_envs: int, levels_are: str, **options: Any
) -> Contender:
    """Return a batch of ours; a task other than `ours.steps` is an option."""
    task = options.pop("task", "steps")
    more: dict[str, Any] = {
        "id": f"roll_vec/{id}",
        "num_envs": num_envs,
        "levels_are": levels_are,
    }
    return _ours(name, task, **more, **options)


LAKE = ("FrozenLake-v1", "the 4x4 map")
CACHED = ("Sokoban-v0", "6x6, 3 boxes, 4096 rooms drawn before")
FRESH = ("Sokoban-v0", "6x6, 3 boxes, a fresh room every episode")


def _cached(name: str, num_envs: int, **options: Any) -> Contender:
    return _steps(name, CACHED[0], num_envs, CACHED[1], num_levels=4096, **options)


def _lake(name: str, num_envs: int, **options: Any) -> Contender:
    return _steps(name, LAKE[0], num_envs, LAKE[1], **options)


def _fresh(name: str, num_envs: int, **options: Any) -> Contender:
    return _steps(name, FRESH[0], num_envs, FRESH[1], **options)


def steps(quick: bool) -> Case:
    """FrozenLake-v1, ours and everyone's; Sokoban beside the same SyncVectorEnv."""
    task = "gymnasium.frozen_lake"
    pool = "envpool.frozen_lake"
    contenders = [
        # First: where nothing is compiled yet it takes longest.
        _cached("cached 4096", 4096),
        *(
            _lake(f"lake {n}", n)
            for n in ([64, 4096] if quick else [1, 16, 256, 1024, 4096, 16384, 65536])
        ),
        *(
            _theirs(f"sync {n}", "SyncVectorEnv", task, num_envs=n)
            for n in ([256] if quick else [1, 16, 256, 1024, 4096])
        ),
        *(
            _theirs(f"async {n}", "AsyncVectorEnv", task, num_envs=n, mode="async")
            for n in ([] if quick else [1, 16, 64])
        ),
        *(
            _theirs(f"envpool one {n}", "EnvPool, one core", pool, num_envs=n, cores=1)
            for n in ([1024] if quick else [1, 16, 256, 1024, 4096, 16384])
        ),
        *(
            _theirs(
                f"envpool async {n}", "EnvPool, async", pool, num_envs=n, mode="async"
            )
            for n in ([] if quick else [16, 256, 1024, 4096])
        ),
        *(
            _theirs(
                f"envpools {n}",
                "EnvPool, a process a core",
                pool,
                num_envs=n,
                process_per_core=True,
            )
            for n in ([] if quick else [1024, 4096])
        ),
        _theirs("pufferlib", "PufferLib", "pufferlib.frozen_lake"),
        _fresh("fresh 4096", 4096),
    ]
    rows = [
        Row("FrozenLake-v1 beside SyncVectorEnv", "lake 4096", "sync ", 600),
        Row("Sokoban, rooms kept, beside the same", "cached 4096", "sync ", 400),
        Row("Sokoban, fresh rooms, beside the same", "fresh 4096", "sync ", 60),
        Row("FrozenLake-v1 beside AsyncVectorEnv", "lake ", "async "),
        Row("FrozenLake-v1 beside EnvPool", "lake ", "envpool ", 40),
        Row("the same beside an EnvPool on each core", "lake ", "envpools "),
    ]
    return Case("steps", "FrozenLake-v1, 4x4", contenders, rows)


def boxoban(quick: bool, levels: str, levels_are: str) -> Case:
    """Sokoban 10x10 with the same given levels for all: a file, and what is in it."""
    pool, scan = "envpool.sokoban", "jumanji.sokoban"
    contenders = [
        *(
            _steps(
                f"sokoban {n}",
                "Sokoban-v0",
                n,
                levels_are,
                levels=levels,
                max_episode_steps=120,
            )
            for n in ([4096] if quick else [1, 16, 256, 1024, 4096, 16384])
        ),
        *(
            _theirs(
                f"jumanji scan {n}",
                "Jumanji, scan",
                scan,
                num_envs=n,
                levels=levels,
            )
            for n in ([4096] if quick else [256, 1024, 4096])
        ),
        *(
            _theirs(
                f"envpool async {n}",
                "EnvPool, async",
                pool,
                num_envs=n,
                mode="async",
            )
            for n in ([256] if quick else [16, 256, 1024])
        ),
        *(
            _theirs(f"envpool one {n}", "EnvPool, one core", pool, num_envs=n, cores=1)
            for n in ([] if quick else [1, 16, 256, 1024])
        ),
        *(
            _theirs(
                f"jumanji step {n}",
                "Jumanji, a call a step",
                scan,
                num_envs=n,
                levels=levels,
                mode="step",
            )
            for n in ([] if quick else [256, 4096])
        ),
        *(
            _theirs(
                f"jumanjis {n}",
                "Jumanji, scan, a process a core",
                scan,
                num_envs=n,
                levels=levels,
                process_per_core=True,
            )
            for n in ([] if quick else [4096])
        ),
    ]
    rows = [
        Row("Sokoban beside EnvPool", "sokoban ", "envpool ", 100),
        Row("Sokoban beside Jumanji, scanned", "sokoban ", "jumanji scan ", 20),
        Row("Sokoban beside Jumanji, step by step", "sokoban ", "jumanji step "),
        Row("the same beside a Jumanji on each core", "sokoban ", "jumanjis "),
    ]
    return Case(
        "boxoban", f"Sokoban, {SIZE}x{SIZE}, {NUM_BOXES} boxes", contenders, rows
    )


def rooms(quick: bool) -> Case:
    """Rooms drawn on one thread."""
    # As many rooms of theirs as a second or two allows.
    counts = {1: 200, 2: 100, 3: 50}
    contenders = [
        _ours(f"ours {n}", "rooms", size=6, num_boxes=n, cores=1) for n in counts
    ]
    contenders += [
        _theirs(
            f"gym-sokoban {n}",
            "gym-sokoban",
            "gym_sokoban.rooms",
            size=6,
            num_boxes=n,
            count=count,
            cores=1,
        )
        for n, count in counts.items()
    ]
    # Some rooms take a hundred times as long as most: the mean is what a batch pays.
    contenders += [
        _ours(
            f"large, {statistic}",
            "room_times",
            size=10,
            num_boxes=4,
            statistic=statistic,
            cores=1,
            patience=4.0,
        )
        for statistic in ("median", "mean")
    ]
    targets = {3: 1000.0}
    rows = [
        Row(
            f"rooms, 6x6, {n} box{'es' * (n > 1)}, beside gym-sokoban",
            f"ours {n}",
            f"gym-sokoban {n}",
            targets.get(n),
        )
        for n in counts
    ]
    rows += [
        Row(
            f"a room, 10x10, 4 boxes, the {statistic}",
            f"large, {statistic}",
            "",
            5,
            ALONE,
        )
        for statistic in ("median", "mean")
    ]
    return Case("rooms", "Rooms", contenders, rows)


def forms(quick: bool) -> Case:
    """Our own forms side by side: texts, many steps in a call, one environment."""
    contenders = [
        _cached("grid", 4096),
        _cached("text", 4096, obs_mode="text"),
        _lake("lake steps", 64),
        _lake("lake unrolled", 64, task="unroll"),
        _cached("sokoban steps", 64),
        _cached("sokoban unrolled", 64, task="unroll"),
        Contender(
            "single",
            "roll_vec",
            "benchmarks.peers.gymnasium",
            "single",
            {"id": "roll_vec:roll_vec/FrozenLake-v1"},
        ),
        _theirs("gymnasium", "Gymnasium", "gymnasium.single"),
    ]
    rows = [
        Row("Sokoban, texts: more a string than a grid", "text", "grid", 150, NS_MORE),
        Row("FrozenLake-v1, unroll of 128 beside step", "lake u", "lake s", 4),
        Row("Sokoban, unroll of 128 beside step", "sokoban u", "sokoban s", 4),
        Row("one FrozenLake-v1 beside Gymnasium's", "single", "gymnasium", 2),
    ]
    return Case("forms", "Forms", contenders, rows)


def threads(quick: bool) -> Case:
    """Two threads beside one, and large batches beside small ones on one core.

    A process on each core with half of the environments shows what the cores would give
    if nothing were handed over.
    """
    kinds: list[tuple[str, str, Callable[..., Contender], dict[str, Any]]] = [
        ("lake", "FrozenLake-v1, positions", _lake, {}),
        ("grids", "Sokoban, grids", _cached, {}),
        ("planes", "Sokoban, planes", _cached, {"obs_mode": "planes"}),
        ("fresh", "Sokoban, fresh rooms", _fresh, {}),
    ]
    contenders, rows = [], []
    for name, title, make, keywords in kinds:
        alone, together = {"num_threads": 1, "cores": 1}, {"num_threads": 2}
        contenders.append(make(f"{name} 1024, one", 1024, **alone, **keywords))
        for n, target in ((16384, 1.3), (65536, 1.7)):
            contenders += [
                make(f"{name} {n}, one", n, **alone, **keywords),
                make(f"{name} {n}, two", n, **together, **keywords),
            ]
            rows.append(
                Row(
                    f"{title}, {n:,}, two threads beside one",
                    f"{name} {n}, two",
                    f"{name} {n}, one",
                    target,
                )
            )
        contenders.append(
            make(
                f"{name} cores",
                32768,
                num_threads=1,
                process_per_core=True,
                **keywords,
            )
        )
        rows.append(
            Row(
                f"{title}, 65,536, a process a core beside one thread",
                f"{name} cores",
                f"{name} 65536, one",
            )
        )
        rows.append(
            Row(
                f"{title}, cost of a step, 65,536 beside 1024",
                f"{name} 65536, one",
                f"{name} 1024, one",
                1.3,
                COST,
            )
        )
    return Case("threads", "Threads", contenders, rows)


def texts(quick: bool) -> Case:
    """Countdown, the pool and the parser."""
    sync = "SyncVectorEnv of ours"
    waiting: dict[str, Any] = {"num_envs": 64, "wait": 0.01}
    contenders = [
        _ours("our tasks", "countdown.tasks"),
        _ours("our scores", "countdown.scores"),
        _ours("our episodes", "countdown.episodes", num_envs=1024),
        _ours("sync episodes", "countdown.episodes", sync, num_envs=1024, sync=True),
        _theirs("their tasks", "reasoning-gym", "reasoning_gym.tasks"),
        _theirs("their scores", "reasoning-gym", "reasoning_gym.scores"),
        _ours("our pool", "texts.pool", num_envs=256, workers=0),
        _ours("sync pool", "texts.pool", sync, num_envs=256),
        _ours("waiting, threads", "texts.pool", **waiting, workers=64),
        _ours("waiting, none", "texts.pool", **waiting, workers=0),
        _ours("our parser", "texts.parse"),
        _ours("plain parser", "texts.parse", "a regex", plainly=True),
    ]
    rows = [
        Row("Countdown, tasks, beside reasoning-gym", "our t", "their t", 100),
        Row("Countdown, scores, beside reasoning-gym", "our s", "their s", 60),
        Row("Countdown, episodes, beside SyncVectorEnv", "our e", "sync e"),
        Row("the serial pool beside SyncVectorEnv", "our pool", "sync pool", 1),
        Row("64 that wait: threads beside none", "waiting, t", "waiting, n", 30),
        Row("answers parsed, beside a plain regex", "our parser", "plain parser"),
    ]
    return Case("texts", "Texts", contenders, rows)


def webshop(quick: bool) -> Case:
    """WebShop, by itself."""
    contenders = [
        *(
            _ours(kept, "webshop.steps", kept=kept, cores=1)
            for kept in ("cold", "warm", "pool")
        ),
        *(
            _ours(f"search {n}", "webshop.search", num_products=n, cores=1)
            for n in (1000, 50_000)
        ),
        *(
            _ours(f"{name} {n}", f"webshop.{name}", num_products=n, cores=1)
            for name in ("ready", "opened")
            for n in (1000, 50_000)
        ),
    ]
    rows = [
        Row("WebShop, searches not asked before", "cold", "", 15_000, ALONE),
        Row("WebShop, searches asked before", "warm", "", None, ALONE),
        Row("WebShop, the same through make_vec", "pool", "", None, ALONE),
        Row("a search of 1000 products", "search 1000", "", 0.15, ALONE),
        Row("a search of 50,000 products", "search 50000", "", 1.5, ALONE),
        Row("a shop of 1000 products made", "ready 1000", "", 3000, ALONE),
        Row("a stored shop of 1000 products opened", "opened 1000", "", 500, ALONE),
        Row("a shop of 50,000 products made", "ready 50000", "", None, ALONE),
        Row("a stored shop of 50,000 products opened", "opened 50000", "", None, ALONE),
    ]
    return Case("webshop", "WebShop", contenders, rows)


# By name; quick runs leave the slow ones out.  `boxoban` needs its levels besides.
CASES: dict[str, Callable[..., Case]] = {
    "steps": steps,
    "boxoban": boxoban,
    "rooms": rooms,
    "forms": forms,
    "threads": threads,
    "texts": texts,
    "webshop": webshop,
}
QUICK = ("steps", "boxoban", "forms")
