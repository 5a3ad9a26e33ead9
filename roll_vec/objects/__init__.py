"""One environment object, as texts and pools play it.

`base_envs` has the base classes for environments of users and their streams of seeds.
`methods` has its optional methods through wrappers, `results` the checks of what
`reset` and `step` return, `states` its state, by its `get_state` and `set_state`.
"""
