"""The cases of the suite: contenders, their sizes, and the rows that compare them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.comparisons import ALONE, COST, NS_MORE, Case, Row
from benchmarks.goals.case import goals
from benchmarks.interleave import Contender
from benchmarks.levels import NUM_BOXES, SIZE

# Options of the contender itself; the others go to its task.
_CONTENDER_KEYS = ("cores", "process_per_core", "patience")


def _roll_vec(
    name: str, task: str, engine: str = "roll_vec", **options: Any
) -> Contender:
    """Return a contender of roll_vec; a task is ``module.function``."""
    module, _, function = task.rpartition(".")
    more = {key: options.pop(key) for key in _CONTENDER_KEYS if key in options}
    return Contender(
        name, engine, f"benchmarks.{module or 'batches'}", function, options, **more
    )


def _peer(name: str, engine: str, task: str, **options: Any) -> Contender:
    """Return a contender of a peer; a task is ``peer.function``."""
    peer, _, function = task.partition(".")
    more = {key: options.pop(key) for key in _CONTENDER_KEYS if key in options}
    return Contender(
        name, engine, f"benchmarks.peers.{peer}", function, options, peer, **more
    )


def _steps(
    name: str, num_envs: int, *, id: str, task: str = "steps", **options: Any
) -> Contender:
    """Return a batch of roll_vec that does a task of `batches`."""
    return _roll_vec(name, task, id=f"roll_vec/{id}", num_envs=num_envs, **options)


_lake = partial(_steps, id="FrozenLake-v1", levels_are="the 4x4 map")
_sokoban_cached = partial(
    _steps,
    id="Sokoban-v0",
    levels_are="6x6, 3 boxes, 4096 rooms drawn before",
    num_levels=4096,
)
_sokoban_fresh = partial(
    _steps, id="Sokoban-v0", levels_are="6x6, 3 boxes, a fresh room every episode"
)


def steps(quick: bool) -> Case:
    """FrozenLake-v1 beside all peers; Sokoban beside the same SyncVectorEnv."""
    task = "gymnasium.frozen_lake"
    pool = "envpool.frozen_lake"
    scan = "gymnax.frozen_lake"
    contenders = [
        # First: with an empty cache it compiles longest.
        _sokoban_cached("cached 4096", 4096),
        *(
            _lake(f"lake {n}", n)
            for n in ([64, 4096] if quick else [1, 16, 256, 1024, 4096, 16384, 65536])
        ),
        *(
            _peer(f"sync {n}", "SyncVectorEnv", task, num_envs=n)
            for n in ([256] if quick else [1, 16, 256, 1024, 4096])
        ),
        *(
            _peer(f"async {n}", "AsyncVectorEnv", task, num_envs=n, mode="async")
            for n in ([] if quick else [1, 16, 64])
        ),
        *(
            _peer(f"envpool one {n}", "EnvPool, one core", pool, num_envs=n, cores=1)
            for n in ([1024] if quick else [1, 16, 256, 1024, 4096, 16384])
        ),
        *(
            _peer(
                f"envpool async {n}", "EnvPool, async", pool, num_envs=n, mode="async"
            )
            for n in ([] if quick else [16, 256, 1024, 4096])
        ),
        *(
            _peer(
                f"envpools {n}",
                "EnvPool, a process a core",
                pool,
                num_envs=n,
                process_per_core=True,
            )
            for n in ([] if quick else [1024, 4096])
        ),
        *(
            _peer(f"gymnax scan {n}", "gymnax, scan", scan, num_envs=n)
            for n in ([4096] if quick else [256, 4096, 16384, 65536])
        ),
        *(
            _peer(
                f"gymnax {mode} {n}",
                f"gymnax, {engine}",
                scan,
                num_envs=n,
                mode=mode,
            )
            for mode, engine in (
                ("kept", "scan, results kept"),
                ("step", "a call a step"),
            )
            for n in ([] if quick else [4096, 16384, 65536])
        ),
        *(
            _peer(
                f"gymnaxes {n}",
                "gymnax, scan, a process a core",
                scan,
                num_envs=n,
                process_per_core=True,
            )
            for n in ([] if quick else [4096, 16384])
        ),
        # Without slips: then nearly all of a gymnax step's cost is gone.
        *(
            _steps(
                f"sure lake {n}",
                n,
                id="FrozenLake-v1",
                levels_are="the 4x4 map, no slips",
                is_slippery=False,
            )
            for n in ([] if quick else [16384, 65536])
        ),
        *(
            _peer(
                f"gymnax, sure, {mode} {n}",
                f"gymnax, {engine}",
                scan,
                num_envs=n,
                mode=mode,
                is_slippery=False,
            )
            for mode, engine in (("scan", "scan"), ("kept", "scan, results kept"))
            for n in ([] if quick else [4096, 16384, 65536])
        ),
        _peer("pufferlib", "PufferLib", "pufferlib.frozen_lake"),
        _sokoban_fresh("fresh 4096", 4096),
    ]
    rows = [
        Row("FrozenLake-v1 beside SyncVectorEnv", "lake 4096", "sync ", 600),
        Row("Sokoban, rooms kept, beside the same", "cached 4096", "sync ", 400),
        Row("Sokoban, fresh rooms, beside the same", "fresh 4096", "sync ", 60),
        Row("FrozenLake-v1 beside AsyncVectorEnv", "lake ", "async "),
        Row("FrozenLake-v1 beside EnvPool", "lake ", "envpool ", 40),
        Row("the same beside an EnvPool on each core", "lake ", "envpools "),
        Row("FrozenLake-v1 beside gymnax, scanned, nothing kept", "lake ", "gymnax sc"),
        Row("the same beside a gymnax on each core", "lake ", "gymnaxes "),
        Row("FrozenLake-v1 beside gymnax, scanned, results kept", "lake ", "gymnax k"),
        Row("FrozenLake-v1 beside gymnax, step by step", "lake ", "gymnax st"),
        Row(
            "FrozenLake without slips beside gymnax, scanned, nothing kept",
            "sure ",
            "gymnax, sure, scan",
        ),
        Row(
            "FrozenLake without slips beside gymnax, scanned, results kept",
            "sure ",
            "gymnax, sure, kept",
        ),
    ]
    return Case("steps", "FrozenLake-v1, 4x4", contenders, rows)


def boxoban(quick: bool, levels: str, levels_are: str) -> Case:
    """Sokoban 10x10 with the same levels for all: their file and its description."""
    pool, scan = "envpool.sokoban", "jumanji.sokoban"
    contenders = [
        *(
            _steps(
                f"sokoban {n}",
                n,
                id="Sokoban-v0",
                levels_are=levels_are,
                levels=levels,
                max_episode_steps=120,
            )
            for n in ([4096] if quick else [1, 16, 256, 1024, 4096, 16384])
        ),
        *(
            _peer(
                f"jumanji scan {n}",
                "Jumanji, scan",
                scan,
                num_envs=n,
                levels=levels,
            )
            for n in ([4096] if quick else [256, 1024, 4096])
        ),
        *(
            _peer(
                f"envpool async {n}",
                "EnvPool, async",
                pool,
                num_envs=n,
                mode="async",
            )
            for n in ([256] if quick else [16, 256, 1024])
        ),
        *(
            _peer(f"envpool one {n}", "EnvPool, one core", pool, num_envs=n, cores=1)
            for n in ([] if quick else [1, 16, 256, 1024])
        ),
        *(
            _peer(
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
            _peer(
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
    # As many rooms of gym-sokoban as take a second or two.
    counts = {1: 200, 2: 100, 3: 50}
    contenders = [
        _roll_vec(f"ours {n}", "rooms", size=6, num_boxes=n, cores=1) for n in counts
    ]
    contenders += [
        _peer(
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
    # Some rooms take a hundred times as long as most: a batch pays the mean.
    contenders += [
        _roll_vec(
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
    """roll_vec beside itself: texts, many steps in a call, one environment."""
    contenders = [
        _sokoban_cached("grid", 4096),
        _sokoban_cached("text", 4096, obs_mode="text"),
        _lake("lake steps", 64),
        _lake("lake unrolled", 64, task="unroll"),
        _sokoban_cached("sokoban steps", 64),
        _sokoban_cached("sokoban unrolled", 64, task="unroll"),
        Contender(
            "single",
            "roll_vec",
            "benchmarks.peers.gymnasium",
            "single",
            {"id": "roll_vec:roll_vec/FrozenLake-v1"},
        ),
        _peer("gymnasium", "Gymnasium", "gymnasium.single"),
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

    A process on each core with half of the environments shows the gain of a second
    core without any cost of handing work over.
    """
    kinds: list[tuple[str, str, Callable[..., Contender], dict[str, Any]]] = [
        ("lake", "FrozenLake-v1, positions", _lake, {}),
        ("grids", "Sokoban, grids", _sokoban_cached, {}),
        ("planes", "Sokoban, planes", _sokoban_cached, {"obs_mode": "planes"}),
        ("fresh", "Sokoban, fresh rooms", _sokoban_fresh, {}),
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
    slow: dict[str, Any] = {"num_envs": 64, "wait": 0.01}
    contenders = [
        _roll_vec("our tasks", "countdown.tasks"),
        _roll_vec("our scores", "countdown.scores"),
        _roll_vec("our episodes", "countdown.episodes", num_envs=1024),
        _roll_vec(
            "sync episodes", "countdown.episodes", sync, num_envs=1024, sync=True
        ),
        _peer("their tasks", "reasoning-gym", "reasoning_gym.tasks"),
        _peer("their scores", "reasoning-gym", "reasoning_gym.scores"),
        _roll_vec("our pool", "texts.pool", num_envs=256, workers=0),
        _roll_vec("sync pool", "texts.pool", sync, num_envs=256),
        _roll_vec("waiting, threads", "texts.pool", **slow, workers=64),
        _roll_vec("waiting, none", "texts.pool", **slow, workers=0),
        _roll_vec("our parser", "texts.parse"),
        _roll_vec("plain parser", "texts.parse", "a regex", plainly=True),
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
            _roll_vec(state, "webshop.steps", cache=state, cores=1)
            for state in ("cold", "warm", "pool")
        ),
        *(
            _roll_vec(f"search {n}", "webshop.search", num_products=n, cores=1)
            for n in (1000, 50_000)
        ),
        *(
            _roll_vec(f"{name} {n}", f"webshop.{task}", num_products=n, cores=1)
            for name, task in (("ready", "make_shop"), ("opened", "open_shop"))
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


def solver(quick: bool) -> Case:
    """Rooms that the Sokoban solver solves, beside a search in plain Python."""
    plain = "breadth-first search in Python"
    boxes = {n: f"6x6, {n} box{'es' * (n > 1)}" for n in (1, 2, 3)}
    contenders = [
        contender
        for n in boxes
        for contender in (
            _roll_vec(f"moves {n}", "solver.solutions", num_boxes=n, cores=1),
            _roll_vec(
                f"plain {n}",
                "solver.plain_solutions",
                plain,
                num_boxes=n,
                cores=1,
                patience=2.0,
            ),
            _roll_vec(
                f"pushes {n}",
                "solver.solutions",
                num_boxes=n,
                objective="pushes",
                cores=1,
            ),
        )
    ]
    targets = {3: 500.0}
    rows = [
        Row(
            f"rooms solved, {title}, beside a search in Python",
            f"moves {n}",
            f"plain {n}",
            targets.get(n),
        )
        for n, title in boxes.items()
    ]
    rows += [
        Row(f"rooms solved, {title}, fewest pushes", f"pushes {n}", kind=ALONE)
        for n, title in boxes.items()
    ]
    return Case("solver", "Solver", contenders, rows)


def snapshots(quick: bool) -> Case:
    """Snapshots beside steps of the same batch: the cost of one in steps."""
    ids = {
        "Sokoban-v0": {"num_levels": 4096},
        "FrozenLake-v1": {},
        "RandomFrozenLake-v0": {"num_levels": 4096},
        "Countdown-v0": {},
        "WebShop-v0": {},
    }
    contenders, rows = [], []
    for name, keywords in ids.items():
        is_pool = name in ("Countdown-v0", "WebShop-v0")
        for n in (64,) if is_pool or quick else (64, 4096, 65536):
            contenders += [
                _steps(
                    f"{name} {n} {call}",
                    n,
                    id=name,
                    task="snapshots.cost",
                    call=call,
                    **keywords,
                )
                for call in ("step", "get", "set", "clone")
            ]
            rows += [
                Row(
                    f"{name}, {n:,}: {title}, in steps",
                    f"{name} {n} {call}",
                    f"{name} {n} step",
                    5.0 if n == 4096 and call == "clone" else None,
                    COST,
                )
                for call, title in (
                    ("get", "`get_state`"),
                    ("set", "`set_state`"),
                    ("clone", "clones of 64 by `rows`"),
                )
            ]
    return Case("snapshots", "Snapshots", contenders, rows)


def bands(quick: bool) -> Case:
    """Levels within a band of difficulty, beside levels of any difficulty."""
    kinds: dict[str, dict[str, Any]] = {
        "Sokoban-v0, steps (10, 15)": {"solution_steps": (10, 15)},
        "Sokoban-v0, steps (24, None)": {"solution_steps": (24, None)},
        "RandomFrozenLake-v0, chance (0.2, 0.5)": {"success_probability": (0.2, 0.5)},
        "Countdown-v0, operations (0, 1)": {"num_operations": (0, 1)},
    }
    contenders, rows = [], []
    for title, band in kinds.items():
        id = f"roll_vec/{title.partition(',')[0]}"
        # The same tasks on both sides: numbers may be left out.
        shared = {"numbers_rule": "any"} if "num_operations" in band else {}
        for name, keywords in (("any", shared), ("band", {**shared, **band})):
            contender = _roll_vec(
                f"{title}: {name}", "bands.levels", id=id, cores=1, **keywords
            )
            contenders.append(contender)
        rows.append(
            Row(f"levels of {title}", f"{title}: band", f"{title}: any", None, COST)
        )
    return Case("bands", "Bands", contenders, rows)


def actions(quick: bool) -> Case:
    """Random actions of 4096 environments, beside the action space's own."""
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("integers", {}),
        ("integers with a mask", {"mask": True}),
        ("texts", {"action_mode": "text"}),
    ]
    contenders, rows = [], []
    for title, keywords in kinds:
        own, theirs = f"{title}: batch", f"{title}: space"
        contenders += [
            _roll_vec(own, "actions.draw", num_envs=4096, **keywords),
            _roll_vec(theirs, "actions.draw", num_envs=4096, by_space=True, **keywords),
        ]
        rows.append(Row(f"sample_actions, {title}, beside its space", own, theirs, 1))
    return Case("actions", "Actions", contenders, rows)


# By name.  A run takes all but the last; a quick one takes `QUICK`.  `boxoban` needs
# its levels as more arguments.
CASES: dict[str, Callable[..., Case]] = {
    "steps": steps,
    "boxoban": boxoban,
    "rooms": rooms,
    "forms": forms,
    "threads": threads,
    "texts": texts,
    "webshop": webshop,
    "solver": solver,
    "snapshots": snapshots,
    "bands": bands,
    "actions": actions,
    "goals": goals,
}
DEFAULT = tuple(CASES)[:-1]
QUICK = ("steps", "boxoban", "forms")
