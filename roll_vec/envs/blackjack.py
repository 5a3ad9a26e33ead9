"""Blackjack against a dealer, as in Gymnasium."""

from __future__ import annotations

from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.spaces import Tuple as TupleSpace
from numpy.typing import NDArray

from roll_vec.arrays.array_env import METADATA, ArrayEnv
from roll_vec.arrays.rules import rule
from roll_vec.kernels.rows import Row
from roll_vec.options import refuse_unused
from roll_vec.render.gymnasium_renderers import GymnasiumRenderer

STICK, HIT = range(2)
HIGHEST, DEALER_STICKS = 21, 17
# The highest sum that ends a game, and the highest that is observed: cards that are
# drawn after the end add nothing to it.
LARGEST = HIGHEST + 10


@rule
def draw_card(rng: Any) -> int:
    """Return the value of a card of an endless deck; jack, queen and king count 10."""
    card: int = min(rng.integers(13) + 1, 10)
    return card


@rule
def count_ace(total: int, has_ace: bool) -> int:
    """Return what a hand is worth, if an ace counts 11 where that is not too much."""
    return total + 10 if has_ace and total + 10 <= HIGHEST else total


def describe_cards(env: Any) -> dict[str, Any]:
    """Return the cards of a game as Gymnasium's renderer reads them."""
    card = env.dealer_card
    return {
        # A hand with the same sum, and an ace if there is one.
        "player": [1, env.total - 1] if env.has_ace else [env.total],
        "dealer": [card],
        "dealer_top_card_suit": "CDHS"[env.dealer_suit],
        "dealer_top_card_value_str": {1: "A", 10: "JQK"[env.dealer_face]}.get(
            card, str(card)
        ),
    }


def _play_dealer(
    card: int, cards: list[tuple[int, float]]
) -> dict[tuple[int, bool], float]:
    """Return the chances of what the dealer gets: a sum, and whether it is a natural.

    A sum above 21 counts 0, as in the rule.
    """
    results: dict[tuple[int, bool], float] = {}
    hands = [(card, card == 1, 1, 1.0)]
    while hands:
        total, has_ace, count, chance = hands.pop()
        value = count_ace(total, has_ace)
        if count > 1 and value >= DEALER_STICKS:
            result = value * (value <= HIGHEST), value == HIGHEST and count == 2
            results[result] = results.get(result, 0.0) + chance
            continue
        for more, share in cards:
            ace = has_ace or more == 1
            hands.append((total + more, ace, count + 1, chance * share))
    return results


class Blackjack(ArrayEnv):
    """Draw cards for a sum that is above the dealer's, and not above 21.

    Jack, queen and king count 10, an ace 11, or 1 where 11 would be too much.  The
    dealer shows one of two cards.  Hit draws a card: above 21 you have lost.  Stick is
    the end of your turn: then the dealer draws up to a sum of 17 or more.

    Parameters
    ----------
    natural : bool
        True: to win with an ace and a ten as the first two cards earns 1.5.
    sab : bool
        True: an ace and a ten at the start win, unless the dealer has them as well.
        That is the rule of the book of Sutton and Barto.  ``natural`` has no effect
        then.

    Attributes
    ----------
    total : int
        The sum of the player's cards, an ace as 1.
    num_cards : int
        Their number.
    has_ace : bool
    dealer_card : int
        The dealer's card that is shown, from 1 (ace) to 10.
    dealer_total, dealer_num_cards, dealer_has_ace
        The same of the dealer's hand, with its hidden card.
    dealer_suit, dealer_face : int
        Of the card that pictures show: clubs, diamonds, hearts or spades, from 0; jack,
        queen or king, from 0, if it counts 10.

    Actions
    -------
    A text without the name of an action: nothing is drawn, the reward is 0, the step
    counts.

    Rewards
    -------
    1
        The player wins.
    1.5
        In place of 1, with ``natural`` and without ``sab``: the player wins with an ace
        and a ten.
    -1
        The dealer wins.
    0
        Each other step, and an end with equal sums.

    Episode end
    -----------
    terminated
        The player sticks.
    terminated
        The sum of the player's cards is above 21.

    Sources
    -------
    Gymnasium, Blackjack-v1 : 1.4.0; https://gymnasium.farama.org/environments/toy_text/blackjack/
        cards from the same seeds, steps, rewards

    Differences
    -----------
    - Not there: ``player``, ``dealer``, and attributes of pictures such as ``screen``.
    - Of the cards there are ``total``, ``num_cards``, ``has_ace``, and of the dealer's
      ``dealer_card``, ``dealer_total``, ``dealer_num_cards``, ``dealer_has_ace``.

    Raises
    ------
    InvalidOptionError

    Notes
    -----
    The rule is that of Gymnasium 1.4.0, Blackjack-v1, whose random numbers are one
    stream.
    """

    natural: bool = False
    sab: bool = False

    state: ClassVar = {
        "total": np.int16,
        "num_cards": np.int16,
        "has_ace": np.bool_,
        "dealer_card": np.int16,
        "dealer_total": np.int16,
        "dealer_num_cards": np.int16,
        "dealer_has_ace": np.bool_,
        "dealer_suit": np.int8,
        "dealer_face": np.int8,
    }
    state_limits: ClassVar = {
        "total": (2, LARGEST),
        "num_cards": (2, LARGEST),
        "dealer_card": (1, 10),
        "dealer_total": (2, DEALER_STICKS - 1 + 10),
        "dealer_num_cards": (2, DEALER_STICKS),
        "dealer_suit": (0, 3),
        "dealer_face": (0, 2),
    }
    actions: ClassVar = ("stick", "hit")
    seeding: ClassVar = "stream"
    solution_variables: ClassVar = ("total", "num_cards", "has_ace", "dealer_card")

    def check_options(self) -> None:
        """Warn of a rule that another one turns off."""
        if self.sab:
            reason = "is ignored with sab=True, the default of the id, as in Gymnasium"
            refuse_unused(self, ("natural",), reason, warns=True)

    # The player's sum, the dealer's card, whether an ace of the player counts 11.
    observation_space = TupleSpace((Discrete(32), Discrete(11), Discrete(2)))

    gymnasium_renderer: ClassVar = GymnasiumRenderer(
        "toy_text.blackjack:BlackjackEnv", describe_cards
    )
    metadata: ClassVar = METADATA

    @rule
    def begin(env: Any, rng: Any) -> None:
        env.dealer_card = draw_card(rng)
        hidden = draw_card(rng)
        env.dealer_total = env.dealer_card + hidden
        env.dealer_has_ace = env.dealer_card == 1 or hidden == 1
        first, second = draw_card(rng), draw_card(rng)
        env.total = first + second
        env.has_ace = first == 1 or second == 1
        env.num_cards = env.dealer_num_cards = 2
        env.dealer_suit = rng.integers(4)
        if env.dealer_card == 10:
            env.dealer_face = rng.integers(3)

    @rule
    def step(env: Any, action: int, rng: Any) -> tuple[float, bool]:
        if action == HIT:
            card = draw_card(rng)
            env.total = min(env.total + card, LARGEST)
            env.num_cards = min(env.num_cards + 1, LARGEST)
            env.has_ace = env.has_ace or card == 1
            is_bust = env.total > HIGHEST
            return -1.0 if is_bust else 0.0, is_bust
        while count_ace(env.dealer_total, env.dealer_has_ace) < DEALER_STICKS:
            card = draw_card(rng)
            env.dealer_total += card
            env.dealer_num_cards = min(env.dealer_num_cards + 1, DEALER_STICKS)
            env.dealer_has_ace = env.dealer_has_ace or card == 1
        players = count_ace(env.total, env.has_ace)
        dealers = count_ace(env.dealer_total, env.dealer_has_ace)
        is_natural = players == HIGHEST and env.num_cards == 2
        dealer_is_natural = dealers == HIGHEST and env.dealer_num_cards == 2
        players *= players <= HIGHEST
        dealers *= dealers <= HIGHEST
        reward = float(players > dealers) - float(players < dealers)
        if env.sab:
            if is_natural and not dealer_is_natural:
                reward = 1.0
        elif env.natural and is_natural and reward == 1.0:
            reward = 1.5
        return reward, True

    @rule
    def observe(env: Any, out: Any) -> None:
        out[0] = count_ace(env.total, env.has_ace)
        out[1] = env.dealer_card
        out[2] = count_ace(env.total, env.has_ace) > env.total

    def text(self, env: Row) -> str:
        """Return the player's sum and the dealer's card."""
        total = count_ace(env.total, env.has_ace)
        ace = " with an ace as 11" if total > env.total else ""
        card = "an ace" if env.dealer_card == 1 else f"a {env.dealer_card}"
        return f"Your sum is {total}{ace}. The dealer shows {card}."

    @cached_property
    def advantages(self) -> NDArray[np.float64]:
        """(32, 2, 2, 11, 3) float64: the advantages of stick, hit and no action.

        By the player's sum, whether there is an ace, whether there are two cards, and
        the dealer's card.
        """
        table = np.zeros((LARGEST + 1, 2, 2, 11, 3))
        cards = [(card, (4 if card == 10 else 1) / 13) for card in range(1, 11)]
        for dealer_card in range(1, 11):
            results = _play_dealer(dealer_card, cards)
            # From the highest sum: a hit leads to a higher one.
            values = np.full((LARGEST + 1, 2), -1.0)
            for total, ace, is_two in product(range(21, 1, -1), (0, 1), (0, 1)):
                players = count_ace(total, bool(ace))
                is_natural = players == HIGHEST and is_two == 1
                stick = 0.0
                for (dealers, dealer_is_natural), chance in results.items():
                    reward = float(players > dealers) - float(players < dealers)
                    if self.sab and is_natural and not dealer_is_natural:
                        reward = 1.0
                    elif not self.sab and self.natural and is_natural and reward == 1:
                        reward = 1.5
                    stick += chance * reward
                hit = sum(
                    chance * values[total + card, int(ace or card == 1)]
                    for card, chance in cards
                )
                value = max(stick, hit)
                row = table[total, ace, is_two, dealer_card]
                row[:2] = stick - value, hit - value
                if not is_two:
                    values[total, ace] = value
        return table.round(12) + 0.0

    def action_advantages(
        self, before: Any, actions: NDArray[np.int64], after: Any
    ) -> NDArray[np.float64]:
        """Return advantages in expected return; the hidden card is not known.

        See `roll_vec.arrays.array_env.ArrayEnv`.
        """
        is_two = np.int64(before["num_cards"] == 2)
        hand = before["total"], np.int64(before["has_ace"]), is_two
        result: NDArray[np.float64] = self.advantages[
            (*hand, before["dealer_card"], actions)
        ]
        return result

    def solve(self, env: Row) -> list[int]:
        """Return the action with the highest expected return."""
        total, card = count_ace(env.total, env.has_ace), env.dealer_card
        if total > env.total:
            is_enough = total >= 19 or (total == 18 and 2 <= card <= 8)
        elif total <= 12:
            is_enough = total == 12 and 4 <= card <= 6
        else:
            is_enough = total >= 17 or 2 <= card <= 6
        return [STICK if is_enough else HIT]
