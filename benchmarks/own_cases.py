"""Cases that compare roll_vec with itself, and the goals of latency."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.baselines import measured_pairs
from benchmarks.comparisons import ALONE, COST, EXTRA_NS, Case, Row
from benchmarks.interleave import Contender
from benchmarks.shards import WORKLOADS

LAKE_ID, SOKOBAN_ID = "roll_vec/FrozenLake-v1", "roll_vec/Sokoban-v0"
RANDOM_ID = "roll_vec/RandomFrozenLake-v0"
# Options of `batches.steps`.
LAKE = {"id": LAKE_ID, "levels_are": "the 4x4 map"}
FRESH = {"id": SOKOBAN_ID, "levels_are": "6x6, 3 boxes, a fresh room every episode"}
KEPT: dict[str, Any] = {
    "id": SOKOBAN_ID,
    "levels_are": "6x6, 3 boxes, 4096 rooms drawn before",
    "num_levels": 4096,
}
# Ids with the keywords that keep all their levels in memory.
GAMES = {LAKE_ID: {}, SOKOBAN_ID: {"num_levels": 4096}, RANDOM_ID: {"num_levels": 4096}}
# Options of the contender itself; the others go to its task.
_CONTENDER_KEYS = ("engine", "peer", "cores", "each_core", "patience")


def own(name: str, task: str, **options: Any) -> Contender:
    """Return a contender of roll_vec; a task is ``module.function``."""
    module, _, function = task.rpartition(".")
    more = {key: options.pop(key) for key in _CONTENDER_KEYS if key in options}
    return Contender(name, f"benchmarks.{module}", function, options, **more)


def sized(
    name: str,
    sizes: Sequence[int],
    module: str = "benchmarks.batches",
    task: str = "steps",
    **options: Any,
) -> list[Contender]:
    """Return a contender for each number of environments, ``NAME NUMBER``."""
    module = module.removeprefix("benchmarks.")
    return [
        own(f"{name} {n}", f"{module}.{task}", num_envs=n, **options) for n in sizes
    ]


def _alone(
    title: str,
    target: float | None,
    task: str,
    max_rounds: int | None = None,
    **options: Any,
) -> tuple[Contender, Row]:
    """Return a contender, and the row of its own figure."""
    row = Row(title, f"{title}.", "", target, ALONE, max_rounds)
    return own(f"{title}.", task, **options), row


def _case(title: str, pairs: Sequence[tuple[Contender, Row]]) -> Case:
    return Case(title, [one for one, _ in pairs], [row for _, row in pairs])


def _name(id: str) -> str:
    return id.partition("/")[2]


def forms(quick: bool) -> Case:
    """Texts, many steps in a call, one environment."""
    single = "peers.gymnasium.single"
    contenders = [
        *sized("grid", [4096], **KEPT),
        *sized("text", [4096], **KEPT, obs_mode="text"),
        *sized("lake steps", [64], **LAKE),
        *sized("lake unrolled", [64], task="unroll", **LAKE),
        *sized("sokoban steps", [64], **KEPT),
        *sized("sokoban unrolled", [64], task="unroll", **KEPT),
        own("single", single, id=f"roll_vec:{LAKE_ID}"),
        own("gymnasium", single, engine="Gymnasium", peer="gymnasium"),
    ]
    title = "Sokoban, texts: more a string than a grid"
    rows = [
        Row(title, "text", "grid", 150, EXTRA_NS),
        Row("FrozenLake-v1, unroll of 128 beside step", "lake u", "lake s", 4),
        Row("Sokoban, unroll of 128 beside step", "sokoban u", "sokoban s", 4),
        Row("one FrozenLake-v1 beside Gymnasium's", "single", "gymnasium", 2),
    ]
    return Case("Forms", contenders, rows)


def threads(quick: bool) -> Case:
    """Two threads beside one, and large batches beside small ones on one core.

    A process on each core with half of the environments shows the gain of a second
    core without any cost of handing work over.
    """
    kinds: dict[str, dict[str, Any]] = {
        "FrozenLake-v1, positions": LAKE,
        "Sokoban, grids": KEPT,
        "Sokoban, planes": {**KEPT, "obs_mode": "planes"},
        "Sokoban, fresh rooms": FRESH,
    }
    contenders, rows = [], []
    for name, keywords in kinds.items():
        one = {"num_threads": 1, **keywords}
        contenders += [
            *sized(f"{name}, one", [1024, 16384, 65536], cores=1, **one),
            *sized(f"{name}, two", [16384, 65536], num_threads=2, **keywords),
            *sized(f"{name}, each core", [32768], each_core=True, **one),
        ]
        most = f"{name}, one 65536"
        rows += [
            Row(
                f"{name}, {n:,}, two threads beside one",
                f"{name}, two {n}",
                f"{name}, one {n}",
                target,
            )
            for n, target in ((16384, None), (65536, 1.5))
        ]
        title = f"{name}, 65,536, a process a core beside one thread"
        rows.append(Row(title, f"{name}, each core", most))
        title = f"{name}, cost of a step, 65,536 beside 1024"
        rows.append(Row(title, most, f"{name}, one 1024", 1.3, COST))
    return Case("Threads", contenders, rows)


def webshop(quick: bool) -> Case:
    """WebShop, by itself."""
    pairs = [
        _alone(f"WebShop, {words}", target, "webshop.steps", cache=cache, cores=1)
        for words, target, cache in (
            ("searches not asked before", 15_000, "cold"),
            ("searches asked before", None, "warm"),
            ("the same through make_vec", None, "pool"),
        )
    ]
    for task, title, targets in (
        ("search", "a search of {:,} products", (0.15, 1.5)),
        ("make_shop", "a shop of {:,} products made", (3000, None)),
        ("open_shop", "a stored shop of {:,} products opened", (500, None)),
    ):
        for n, target in zip((1000, 50_000), targets, strict=True):
            options = {"num_products": n, "cores": 1}
            pairs.append(_alone(title.format(n), target, f"webshop.{task}", **options))
    return _case("WebShop", pairs)


def solver(quick: bool) -> Case:
    """Solve Sokoban, beside a search in plain Python; single rooms; values of lakes."""
    contenders, rows, pairs = [], [], []
    sizes = ((6, 1), (6, 2), (6, 3)) if quick else ((6, 1), (6, 2), (6, 3), (10, 4))
    for size, n in sizes:
        title = f"{size}x{size}, {n} box{'es' * (n > 1)}"
        options = {"num_boxes": n, "size": size, "cores": 1}
        options["count"] = 2000 if size == 6 else 200
        if size == 6:
            plain = {"engine": "breadth-first search in Python", "patience": 2.0}
            contenders += [
                own(f"solver {n}", "solver.solutions", **options),
                own(f"plain {n}", "solver.plain_solutions", **options, **plain),
            ]
            words = f"rooms solved, {title}, beside a search in Python"
            target = 500 if n == 3 else None
            rows.append(Row(words, f"solver {n}", f"plain {n}", target))
        words, task = f"rooms solved, {title}, fewest pushes", "solver.solutions"
        pairs.append(_alone(words, None, task, objective="pushes", **options))
        for statistic in ("median", "99 %", "most"):
            words = f"a room solved, {title}: {statistic}"
            more = {"statistic": statistic, **options}
            pairs.append(_alone(words, None, "solver.times", **more))
        words = f"dead ends recognised, {title}"
        pairs.append(_alone(words, None, "solver.dead_ends", **options))
    for side in (4, 8) if quick else (4, 8, 16, 32):
        words = f"the value of a map of {side} × {side}"
        pairs.append(_alone(words, None, "solver.lakes", side=side, cores=1))
    alone = _case("Solvers", pairs)
    return Case("Solvers", contenders + alone.contenders, rows + alone.rows)


def snapshots(quick: bool) -> Case:
    """Snapshots beside steps of the same batch: the cost of one in steps."""
    ids = {**GAMES, "roll_vec/Countdown-v0": {}, "roll_vec/WebShop-v0": {}}
    calls = {"get": "`get_state`", "set": "`set_state`", "clone": "clones of 64"}
    contenders, rows = [], []
    for id, keywords in ids.items():
        for n in (64, 4096, 65536) if id in GAMES and not quick else (64,):
            options = {"id": id, "num_envs": n, **keywords}
            contenders += [
                own(f"{id} {n} {call}", "calls.snapshots", call=call, **options)
                for call in ("step", *calls)
            ]
            for call, title in calls.items():
                target = 5.0 if (n, call) == (4096, "clone") else None
                title = f"{_name(id)}, {n:,}: {title}, in steps"
                sides = f"{id} {n} {call}", f"{id} {n} step"
                rows.append(Row(title, *sides, target, COST))
    return Case("Snapshots", contenders, rows)


def actions(quick: bool) -> Case:
    """Random actions of 4096 environments, beside the action space's own."""
    contenders, rows = [], []
    for title, keywords in (
        ("integers", {}),
        ("texts", {"action_mode": "text"}),
    ):
        for side, by_space in (("batch", False), ("space", True)):
            options = {"num_envs": 4096, "by_space": by_space, **keywords}
            contenders.append(own(f"{title}: {side}", "calls.actions", **options))
        words = f"sample_actions, {title}, beside its space"
        rows.append(Row(words, f"{title}: batch", f"{title}: space", 1))
    return Case("Actions", contenders, rows)


def exports(quick: bool) -> Case:
    """Solved rooms a second on one core, by the format that they are exported in."""
    formats = {"messages": "messages", "parquet": "parquet"}
    return _case(
        "Exports",
        [
            _alone(title, None, "exports.rows", format=format, cores=1, patience=4.0)
            for title, format in {**formats, "played, not written": ""}.items()
        ],
    )


def startup(quick: bool) -> Case:
    """Start processes; reset whole batches."""
    pairs = [_alone("import roll_vec", None, "startup.import_time")]
    for id, keywords in GAMES.items():
        title = f"first call of {_name(id)}, kernels compiled before"
        pairs.append(_alone(title, None, "startup.first_call", id=id, empty=False))
        for n in (1024, 16384):
            title = f"resets of {_name(id)}, {n:,}"
            options = {"id": id, "num_envs": n, **keywords}
            pairs.append(_alone(title, None, "batches.resets", **options))
    return _case("Start-up and resets", pairs)


def goals(quick: bool) -> Case:
    """Costs of a step, first calls: the goals."""
    pairs: list[tuple[Contender, Row]] = []
    for id, keywords in GAMES.items():
        for n in (1, 64):
            target = 6 if n == 1 and id != RANDOM_ID else None
            options = {"id": id, "num_envs": n, **keywords}
            title = f"a step of {n} {_name(id)}"
            pairs.append(_alone(title, target, "batches.step_time", **options))
        options = {"id": id, **keywords}
        share = {"num_envs": 65536, **options}
        title = f"65,536 {_name(id)}, the kernels' share of a step"
        pairs.append(_alone(title, 80, "kernels.share", **share))
        title = f"4,096 {_name(id)}, `unroll` with `out` over stored steps"
        pairs.append(_alone(title, 1.5, "unrolls.unroll_ratio", id=id))
        title = f"first call of {_name(id)}, an empty cache"
        seconds = 6 if id == SOKOBAN_ID else 2
        pairs.append(_alone(title, seconds, "startup.first_call", 1, id=id))
    case = _case("Goals", pairs)
    contenders, rows = case.contenders, case.rows
    sync = {"engine": "SyncVectorEnv", "peer": "gymnasium"}
    contenders += [
        own("sync", "peers.gymnasium.steps", num_envs=256, **sync),
        *sized("fresh, one", [4096, 16384], num_threads=1, cores=1, **FRESH),
        *sized("fresh, all", [4096, 16384], **FRESH),
    ]
    for n in (4096, 16384):
        title, one = f"fresh rooms, {n:,}, all cores over one thread", f"fresh, one {n}"
        rows.append(Row(title, f"fresh, all {n}", one, 1.7))
    title = "fresh rooms, 4,096, beside SyncVectorEnv's FrozenLake"
    rows.append(Row(title, "fresh, all 4096", "sync", 100))
    return Case("Goals", contenders, rows)


# Bytes that a step must read and write for an environment: the action, five flags, the
# reward, a mask; of a lake its place, steps, random generator and chances; of a room
# the player, boxes, steps and three cells, and with planes all codes and all planes.
_STEP_BYTES = 8 + 5 + 8 + 1
_LAKE_BYTES = _STEP_BYTES + 16 + 8 + 48 + 8
_ROOM_BYTES = _STEP_BYTES + 8 + 8 + 8 + 6


def floors(quick: bool) -> Case:
    """Compare steps on one thread with a copy of the bytes that they move.

    Besides: the share of kernels, and steps of few environments, whose cost no kernel
    decides.
    """
    contenders, rows = [], []
    for title, id, keywords, num_bytes in (
        ("FrozenLake-v1", LAKE_ID, {}, _LAKE_BYTES),
        ("FrozenLake-v1, grids", LAKE_ID, {"obs_mode": "grid"}, _LAKE_BYTES + 16),
        ("RandomFrozenLake", RANDOM_ID, {}, _LAKE_BYTES),
        ("Sokoban, grids", SOKOBAN_ID, {}, _ROOM_BYTES + 2 * 36),
        ("Sokoban, planes", SOKOBAN_ID, {"obs_mode": "planes"}, _ROOM_BYTES + 8 * 36),
        ("Sokoban, texts", SOKOBAN_ID, {"obs_mode": "text"}, _ROOM_BYTES + 36 + 4 * 41),
    ):
        options = {"id": id, **GAMES[id], **keywords, "num_threads": 1, "cores": 1}
        for n in (4096, 65536):
            copy = {"num_envs": n, "num_bytes": num_bytes, "cores": 1}
            step, share = f"{title}, step {n}", f"{title}, share {n}"
            contenders += [
                own(step, "batches.step_time", num_envs=n, **options),
                own(f"{title}, copy {n}", "kernels.copy_time", **copy),
            ]
            words = f"{title}, {n:,}, a step over a copy of its bytes"
            rows.append(Row(words, step, f"{title}, copy {n}"))
            one_thread = {key: x for key, x in options.items() if key != "num_threads"}
            contenders.append(own(share, "kernels.share", num_envs=n, **one_thread))
            words = f"{title}, {n:,}, the kernels' share"
            rows.append(Row(words, share, kind=ALONE))
        for n in (1, 64):
            few = f"{title}, few {n}."
            contenders.append(own(few, "batches.step_time", num_envs=n, **options))
            rows.append(Row(f"a step of {n} {title}", few, kind=ALONE))
    return Case("Floors", contenders, rows)


def unrolls(quick: bool) -> Case:
    """`unroll` with ``out`` beside stored steps, by size, threads and autoreset."""
    pairs = []
    for id in GAMES:
        for mode in ("NextStep", "SameStep"):
            for n in (64, 4096, 65536):
                for threads in (1, 2):
                    options = {"num_envs": n, "num_threads": threads}
                    title = f"{_name(id)}, {mode}, {n:,}, threads: {threads}"
                    more = {"id": id, "autoreset_mode": mode, **options}
                    pairs.append(_alone(title, None, "unrolls.unroll_ratio", **more))
    return _case("Unrolls", pairs)


def baselines(quick: bool) -> Case:
    """Play the evaluation splits: at random, by a rule, by the solver, by PPO."""
    pairs = []
    for split, policy in measured_pairs():
        options = {"id": split.id, "split": split.name, "policy": policy}
        title = f"{split.id} {split.name}: {policy}"
        pairs.append(_alone(title, None, "baselines.results", 1, **options))
    return _case("Baselines", pairs)


def shards(quick: bool) -> Case:
    """Step batches in shards on Ray, as times the steps of one local batch."""
    pairs = []
    for name, workload in WORKLOADS.items():
        for n in workload.sizes:
            options = {"workload": name, "num_envs": n}
            title = f"{name}, {n:,}"
            pairs.append(
                _alone(f"{title}: local", None, "shards.local_steps", **options)
            )
            for count in (1, 4):
                pairs.append(
                    _alone(
                        f"{title}: {count} shard{'s' * (count > 1)}",
                        None,
                        "shards.ratio",
                        num_shards=count,
                        patience=5.0,
                        **options,
                    )
                )
    return _case("Shards", pairs)


def custom(id: str, sizes: Sequence[int], keywords: dict[str, Any]) -> Case:
    """Return the case of any id beside SyncVectorEnv, at every size."""
    options = {"id": id, "keywords": keywords}
    task: dict[str, Any] = {"module": "benchmarks.custom", "task": "steps"}
    sync = {"sync": True, "engine": "SyncVectorEnv"}
    contenders, rows = [], []
    for n in sizes:
        # No name of a size begins as another.
        contenders += [*sized(f"own {n}:", [n], **task, **options)]
        contenders += [*sized(f"sync {n}:", [n], **task, **options, **sync)]
        rows.append(Row(f"{id}, {n:,}", f"own {n}:", f"sync {n}:"))
    return Case(id, contenders, rows)


CASES: dict[str, Callable[..., Case]] = {
    "forms": forms,
    "threads": threads,
    "webshop": webshop,
    "solver": solver,
    "snapshots": snapshots,
    "actions": actions,
    "exports": exports,
    "startup": startup,
    "goals": goals,
    "floors": floors,
    "unrolls": unrolls,
    "baselines": baselines,
    "shards": shards,
}
ON_REQUEST = ("goals", "floors", "unrolls", "startup", "baselines", "shards")
