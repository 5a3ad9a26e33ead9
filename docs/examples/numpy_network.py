"""A small policy network with PPO's loss, in numpy alone."""

from __future__ import annotations

import dataclasses

import numpy as np

WIDTH = 128
CLIP = 0.2  # of PPO's ratio
EPOCHS, MINIBATCH_SIZE = 8, 256


@dataclasses.dataclass(frozen=True)
class Numbers:
    """The numbers of a learner."""

    gamma: float
    learning_rate: float
    entropy_bonus: float


class Network:
    """Planes (n, ...) to chances of 4 actions (n, 4) and values (n,)."""

    def __init__(self, num_inputs: int, rng: np.random.Generator) -> None:
        # About one input in six is set: the hidden values are near 1.
        weights = rng.normal(0, 0.2, (num_inputs, WIDTH))
        arrays = weights, np.zeros(WIDTH), np.zeros((WIDTH, 5)), np.zeros(5)
        self.parameters = [array.astype(np.float32) for array in arrays]
        self.moments = [(0 * array, 0 * array) for array in self.parameters]
        self.num_steps = 0

    def forward(self, planes: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the inputs as vectors, the hidden layer, the chances, the values."""
        weights, bias, head, head_bias = self.parameters
        inputs = planes.reshape(len(planes), -1).astype(np.float32)
        hidden = np.maximum(inputs @ weights + bias, 0)
        outputs = hidden @ head + head_bias
        chances = np.exp(outputs[:, :4] - outputs[:, :4].max(1, keepdims=True))
        return inputs, hidden, chances / chances.sum(1, keepdims=True), outputs[:, 4]

    def best_actions(self, planes: np.ndarray) -> np.ndarray:
        """Return the most likely actions, (n,)."""
        return self.forward(planes)[2].argmax(1)

    def sample_actions(
        self, planes: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Return actions by their chances, (n,)."""
        sums = self.forward(planes)[2].cumsum(1)
        return (rng.random((len(sums), 1)) > sums[:, :3]).sum(1)

    def learn(
        self,
        planes: np.ndarray,
        actions: np.ndarray,
        returns: np.ndarray,
        numbers: Numbers,
        rng: np.random.Generator,
    ) -> None:
        """Learn from the turns of a batch, whose returns are near 1 in size."""
        _, _, chances, values = self.forward(planes)
        old_chances = chances[np.arange(len(actions)), actions]
        for _ in range(EPOCHS):
            order = rng.permutation(len(actions))
            for rows in np.array_split(order, max(1, len(actions) // MINIBATCH_SIZE)):
                gains = returns[rows] - values[rows]
                gains = (gains - gains.mean()) / (gains.std() + 1e-6)
                batch = planes[rows], actions[rows], old_chances[rows]
                self._step(*batch, gains, returns[rows], numbers)

    def _step(
        self,
        planes: np.ndarray,
        actions: np.ndarray,
        old_chances: np.ndarray,
        gains: np.ndarray,
        returns: np.ndarray,
        numbers: Numbers,
    ) -> None:
        """Take a step of Adam: PPO's clipped loss, those of values and entropy."""
        inputs, hidden, chances, values = self.forward(planes)
        ratio = chances[np.arange(len(actions)), actions] / old_chances
        is_inside = np.where(gains > 0, ratio < 1 + CLIP, ratio > 1 - CLIP)
        weight = (gains * ratio * is_inside)[:, None]
        logs = np.log(chances + 1e-8)
        entropy = -(chances * logs).sum(1, keepdims=True)
        slopes = np.empty((len(actions), 5), np.float32)
        slopes[:, :4] = weight * (chances - np.eye(4)[actions])
        slopes[:, :4] += numbers.entropy_bonus * chances * (logs + entropy)
        slopes[:, 4] = values - returns
        slopes /= len(actions)
        below = (slopes @ self.parameters[2].T) * (hidden > 0)
        gradients = inputs.T @ below, below.sum(0), hidden.T @ slopes, slopes.sum(0)
        self.num_steps += 1
        steps = zip(self.parameters, gradients, self.moments, strict=True)
        for parameter, gradient, (first, second) in steps:
            first += 0.1 * (gradient - first)
            second += 0.01 * (gradient**2 - second)
            mean = first / (1 - 0.9**self.num_steps)
            size = np.sqrt(second / (1 - 0.99**self.num_steps)) + 1e-8
            parameter -= numbers.learning_rate * mean / size
