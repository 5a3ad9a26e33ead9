"""FrozenLake: one map for all episodes, or a random map for each."""
