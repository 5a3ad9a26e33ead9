"""Small random array environments: shapes, dtypes, draws and ends that nobody chose.

``Random0``, ``Random1``, ... are classes of this module, so that other processes find
them.  Expressions stay small, as compiled integers have 64 bits and Python's have more.
"""

from __future__ import annotations

import random

DTYPES = {
    "int": ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"],
    "float": ["float32", "float64"],
    "bool": ["bool_"],
}
COUNT = 12


class Writer:
    """Writes the source of one class."""

    def __init__(self, number):
        self.random = random.Random(number)
        self.number, self.depth = number, 0
        kinds = ["int", "float", *self.random.choices(list(DTYPES), k=3)]
        self.variables = []
        for k, kind in enumerate(kinds):
            shape = self.random.choice([(), (), (3,), ("size",), (2, "size")])
            dtype = self.random.choice(DTYPES[kind])
            self.variables.append((f"{kind}_{k}", kind, dtype, shape))

    def place(self, kind):
        """Return an item of a variable of a kind, or None."""
        names = [each for each in self.variables if each[1] == kind]
        if not names:
            return None
        name, _, _, shape = self.random.choice(names)
        lengths = ["env.size" if n == "size" else n for n in shape]
        index = ", ".join(f"{self.number_of('int')} % {n}" for n in lengths)
        return f"env.{name}[{index}]" if shape else f"env.{name}"

    def number_of(self, kind):
        """Return an expression of a kind."""
        self.depth += 1
        leaf = self.depth > 3 or self.random.random() < 0.3
        text = self.leaf(kind) if leaf else self.node(kind)
        self.depth -= 1
        return text

    def leaf(self, kind):
        place = self.place(kind) if self.depth < 3 else None
        options = {
            "int": [
                "action",
                "env.size",
                "rng.integers(5)",
                "rng.integers(-3, 4)",
                "2",
            ],
            "float": ["rng.random()", "rng.normal()", "env.rate", "0.25"],
            "bool": ["(action > 1)", "(rng.random() < 0.3)", "True"],
        }[kind]
        return self.random.choice([*options, *[place] * 4] if place else options)

    def node(self, kind):
        a, b = self.number_of(kind), self.number_of(kind)
        whole, real = self.number_of("int"), self.number_of("float")
        return self.random.choice(
            {
                "int": [
                    f"(({a}) % 99 + ({b}) % 99)",
                    f"(({a}) % 99 * (({b}) % 99))",
                    f"(({a}) // 3)",
                    f"min({a}, {b})",
                    f"int(({real}) * 3)",
                    f"(({a}) if {self.number_of('bool')} else ({b}))",
                ],
                "float": [
                    f"math.sin({a})",
                    f"(({a}) - ({b}) * 0.5)",
                    f"(({whole}) % 9 / 4)",
                    f"max({a}, {b})",
                    f"rng.uniform(-1.0, abs({a}))",
                ],
                "bool": [
                    f"(({whole}) % 5 == 0)",
                    f"(({a}) and not ({b}))",
                    f"(({real}) < 0.2)",
                ],
            }[kind]
        )

    def statements(self, count, indent):
        """Return lines that write to variables."""
        lines = []
        for _ in range(count):
            kind = self.random.choice([each[1] for each in self.variables])
            value = self.number_of(kind)
            if kind == "float":
                value = f"math.tanh({value})"
            line = f"{self.place(kind)} = {value}"
            shape = self.random.random()
            if shape < 0.25:
                lines += [
                    f"{indent}if {self.number_of('bool')}:",
                    f"{indent}    {line}",
                ]
            elif shape < 0.5:
                times = self.random.choice(["env.size", "2"])
                lines += [f"{indent}for i in range({times}):", f"{indent}    {line}"]
            else:
                lines.append(indent + line)
        return lines

    def source(self):
        """Return the source of the class ``Random<number>``."""
        pad = " " * 8
        state = ", ".join(f"{n!r}: (np.{d}, {s!r})" for n, _, d, s in self.variables)
        infos = [n for n, _, _, _ in self.variables if self.random.random() < 0.4]
        places = [self.place(self.random.choice(["int", "float"])) for _ in range(4)]
        places = [each.replace("action", "1") for each in places if "rng" not in each]
        seeding = self.random.choice(["level", "level", "stream"])
        lines = [
            f"class Random{self.number}(roll_vec.ArrayEnv):",
            "    size: int = 4",
            "    rate: float = 0.75",
            f"    state = {{{state}}}",
            "    actions = 4",
            f"    infos = {tuple(infos)!r}",
            f"    seeding = {seeding!r}",
            f"    observation_space = Box(-np.inf, np.inf, ({len(places) + 1},))",
            "    @roll_vec.rule",
            "    def begin(env, rng):",
            f"{pad}action = rng.integers(4)",
            *self.statements(4, pad),
            "    @roll_vec.rule",
            "    def step(env, action, rng):",
            *self.statements(5, pad),
            f"{pad}reward = {self.number_of('float')}",
            f"{pad}return reward, bool({self.number_of('bool')})",
            "    @roll_vec.rule",
            "    def observe(env, out):",
            f"{pad}out[{len(places)}] = 1",
            *[f"{pad}out[{k}] = {place}" for k, place in enumerate(places)],
        ]
        return "\n".join(lines)


HEAD = """
import math
import numpy as np
import roll_vec
from gymnasium.spaces import Box
"""
exec(HEAD + "\n\n".join(Writer(k).source() for k in range(COUNT)))
