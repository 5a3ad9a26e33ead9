"""One environment object, as texts and pools play it.

`methods` has its optional methods through wrappers, `results` the checks of what
`reset` and `step` return, `states` its state, by its `get_state` and `set_state`.
"""
