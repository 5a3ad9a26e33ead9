"""Pictures of Gymnasium's games, by Gymnasium's own renderers set to our states.

A game names its renderer: the class of Gymnasium's environment, and the attributes that
its method ``render`` reads.  They are made of the variables of one environment.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roll_vec.render.window import import_pygame

Attributes: TypeAlias = dict[str, Any]

# The environments of `_make_env` are shared by all threads.
_lock = threading.Lock()


@dataclasses.dataclass(frozen=True)
class GymnasiumRenderer:
    """Draws states as an environment of Gymnasium draws them.

    Parameters
    ----------
    env_class : str
        ``module:name`` in ``gymnasium.envs``.
    attributes : callable
        From an object with the variables of one environment to the attributes to set.
    keywords : tuple of (str, Any)
        Of the constructor; they can be hashed.
    """

    env_class: str
    attributes: Callable[[Any], Attributes]
    keywords: tuple[tuple[str, Any], ...] = ()

    def draw(self, variables: Any) -> NDArray[np.uint8]:
        """Return a new picture, (H, W, 3) uint8.

        Parameters
        ----------
        variables : object
            Its attributes are the variables of one environment.

        Raises
        ------
        MissingExtraError
            Without pygame.
        """
        name = self.env_class.partition(":")[2]
        import_pygame(f"a picture of Gymnasium's {name}")
        attributes = self.attributes(variables)
        with _lock:
            env = _make_env(self.env_class, self.keywords)
            vars(env).update(attributes)
            picture: NDArray[np.uint8] = env.render()
        return picture


# Each keeps the surface that it draws on.
@functools.lru_cache(maxsize=16)
def _make_env(env_class: str, keywords: tuple[tuple[str, Any], ...]) -> Any:
    module, _, name = env_class.partition(":")
    cls = getattr(importlib.import_module(f"gymnasium.envs.{module}"), name)
    return cls(render_mode="rgb_array", **dict(keywords))


def _cart_pole(env: Any) -> Attributes:
    return {"state": np.array([env.x, env.x_dot, env.theta, env.theta_dot])}


def _mountain_car(env: Any) -> Attributes:
    return {"state": np.array([env.position, env.velocity])}


def _acrobot(env: Any) -> Attributes:
    state = env.theta_1, env.theta_2, env.theta_1_dot, env.theta_2_dot
    return {"state": np.array(state)}


def _pendulum(env: Any) -> Attributes:
    # Without a torque there is no arrow: neither for 0 nor for Gymnasium's None.
    return {"state": np.array([env.theta, env.theta_dot]), "last_u": env.torque}


def _taxi(env: Any) -> Attributes:
    state = (int(env.taxi) * 5 + int(env.passenger)) * 4 + int(env.destination)
    return {"s": state, "lastaction": None, "taxi_orientation": int(env.heading)}


def _cliff_walking(env: Any) -> Attributes:
    return {"s": int(env.cell), "lastaction": int(env.heading)}


def _frozen_lake(env: Any) -> Attributes:
    return {"s": int(env.positions), "lastaction": None}


def _blackjack(env: Any) -> Attributes:
    total, card = int(env.total), int(env.dealer_card)
    value = {1: "A", 10: "JQK"[env.dealer_face]}.get(card, str(card))
    return {
        # A hand with the same sum, and an ace if there is one.
        "player": [1, total - 1] if env.has_ace else [total],
        "dealer": [card],
        "dealer_top_card_suit": "CDHS"[env.dealer_suit],
        "dealer_top_card_value_str": value,
    }


CART_POLE = GymnasiumRenderer("classic_control.cartpole:CartPoleEnv", _cart_pole)
MOUNTAIN_CAR = GymnasiumRenderer(
    "classic_control.mountain_car:MountainCarEnv", _mountain_car
)
MOUNTAIN_CAR_CONTINUOUS = GymnasiumRenderer(
    "classic_control.continuous_mountain_car:Continuous_MountainCarEnv", _mountain_car
)
ACROBOT = GymnasiumRenderer("classic_control.acrobot:AcrobotEnv", _acrobot)
PENDULUM = GymnasiumRenderer("classic_control.pendulum:PendulumEnv", _pendulum)
TAXI = GymnasiumRenderer("toy_text.taxi:TaxiEnv", _taxi)
CLIFF_WALKING = GymnasiumRenderer(
    "toy_text.cliffwalking:CliffWalkingEnv", _cliff_walking
)
BLACKJACK = GymnasiumRenderer("toy_text.blackjack:BlackjackEnv", _blackjack)
FROZEN_LAKE = GymnasiumRenderer("toy_text.frozen_lake:FrozenLakeEnv", _frozen_lake)
