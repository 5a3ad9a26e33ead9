"""Environments whose states are rows of stacked arrays, stepped together by kernels.

All are families of one engine.  A family is an `ArrayEnv`: its class declares
variables, infos and levels, and has the rules of one environment.  In reading order:

=====================  ==============================================================
`grid_family`          how the grids of a family look: cells, glyphs, colours
`attributes`           `StateAttribute`: an attribute that is made of variables
`declarations`         from declarations to what kernels are made of
`rules`                the decorator `rule`, and the errors of rules
`rule_code`            the code of rules: copies of functions, and their digest
`array_env`            `ArrayEnv`: keywords, declarations and rules of a family
`grid_env`             `GridEnv`: one whose observation is a board
`array_checks`         the check of a declaration when it is registered
`grid_observations`    from grids of codes to observations and frames
`action_codes`         which integers are actions, and the warning of action 0
`level_providers`      levels of episodes: those of users, or drawn from seeds
`state_checks`         checks of the arrays of a state
`bound_steps`          kernels of steps, with what stays the same packed once
`observations`         `ObservedEngine`: stacked arrays, observations and frames
`episodes`             `EpisodeEngine`: seeds of episodes, and how these begin
`engine`               `ArrayEngine`: N environments as an `Engine` of `vector`
`advantages`           `AdvantageEngine`: one whose steps have ``advantage``
`single_env`           `SingleEnv`: a row as a `gymnasium.Env`
=====================  ==============================================================

A step of a batch::

    RollVectorEnv.step(actions)                roll_vec/vector/env.py
        engine.check_actions                   ActionCodes, or the parser of texts
        engine.step                            ArrayEngine
            _step_batch
                kernels.bound, step            next episodes, then of each row
                    kernels.families           reward, end and infos,
                                               and the observation
        engine.observe                         GridObserver, if codes are not enough

A large batch runs a kernel on several threads, each with a range of rows.

The arrays of an engine never move: `BoundStep` has packed their addresses, so that a
call takes few arguments.  A single environment plays row 0 in the same way, `OneStep`.

An unroll takes T steps of all environments in one call of the kernel ``unroll`` that
`roll_vec.kernels.unroll` has made for the game, and begins levels that are in memory.
Environments whose next level has to be drawn stop; ``unroll_rows`` plays these.
"""
