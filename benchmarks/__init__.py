"""How fast roll_vec is, and how fast what it is compared with is.

::

    roll-vec bench --quick               # ours beside theirs, within a minute
    roll-vec bench --out benchmarks/results/NAME.json    # everything, ten minutes
    python -m benchmarks.report benchmarks/results/NAME.json     # README's figures
    python -m benchmarks.own module:id   # an id of one's own beside SyncVectorEnv
    python -m benchmarks.floors          # kernels beside a copy of their bytes
    python -m pytest benchmarks --benchmark-enable    # start-up, resets, memory

The modules: `tasks` (what is measured), `worker` (the process of a contender, from
within), `processes` (from without), `turns` (they take turns), `peers` (one adapter
each), `ours`, `countdown`, `texts` and `webshop` (our side), `levels` (the 10x10 levels
all play), `rows` and `cases` (who meets whom), `suite` (one run), `progress`, `result`
(its JSON), `table`, `plot` and `report` (what is shown of it), `machine`.

What the figures mean
---------------------
- *steps/s*: calls of `step` times the number of environments over wall time, actions
  drawn beforehand, every result built.  Autoreset is on: NEXT_STEP, so that a step
  that resets an environment counts as a step, as with Gymnasium and EnvPool; Jumanji
  resets within the step.  Ours are in different steps of their episodes, as in a long
  run.
- *rooms/s*: rooms over wall time, failed attempts included, one thread; ours draws
  them a batch in a call, theirs one by one.
- *cores*, *threads*: those that may be used, whether they are or not.  *batch*:
  environments a call; of EnvPool's asynchronous mode all, half of them at a time.
- A ratio is of two figures taken one right after the other; the table has the median
  of the rounds, the least and the greatest.  Where a side has several sizes or modes,
  all are measured first, and the one with the best median is measured again for the
  row.  Absolute figures of different runs say little about each other.
- Two threads are beside a process that is kept on one core; what a step costs in large
  batches beside small ones is of one core as well.
- Every contender has a process of its own, idle while another is measured, and is run
  as is best for it: EnvPool on one core with one thread, asynchronously over all
  cores, and as a process on each core; Jumanji scanned over 128 steps whose
  observations nobody keeps, a call a step, and as a process on each core.

What bounds the kernels
-----------------------
`floors` measures this; one thread of an AMD EPYC (Zen 4, 2.6 GHz: 10 ns are 26 cycles),
nanoseconds an environment and step, the least of rounds on a busy machine.  A *floor*
is a copy of as many bytes as the kernel must read and write.

============================  =====  ======  =====  ==================================
what                          bytes    cost  floor  what the rest is
============================  =====  ======  =====  ==================================
FrozenLake-v1, `step_rows`      102    10.1    1.0  a draw of PCG64 is 1.9 (128-bit
                                                    product); the slip's, the cell's
                                                    and the tile's loads hang on each
                                                    other; guesses of ended rows
Sokoban 6x6, `step_rows`         52    11.6    0.6  three loads that hang on each
                                                    other, then some forty integer
                                                    operations, no branch to guess
Sokoban, `place_rows`            72     1.1         a hundredth of the rows a step
grids shown (a copy)             72     1.0    0.8  memory
Sokoban 6x6, `write_planes`     288    23.0    3.2  seven comparisons a cell, a
                                                    byte each, in short rows of 36
whole step, FrozenLake-v1             15.3          5 above the kernel: rows that ended
                                                    are found and reset, infos of
                                                    resets, sums of masks
whole step, Sokoban, kept rooms       15.2          likewise; 4 above the kernel
============================  =====  ======  =====  ==================================

None of the step kernels is near its memory: at 4096 environments the state stays in
the second-level cache, and what counts is the chain of loads of one environment,
which the processor overlaps with those of the next as long as no branch is guessed
wrong.

- *Rooms*: instructions, not memory: the workspace stays in the first two levels of
  cache.  A room of 6x6 with 3 boxes takes 1.6 attempts; an attempt of 8.2 us is 0.7 of
  seeding two Mersenne twisters (3.7 before they were seeded abreast), 2.3 of carving
  (rejected draws and changes of direction, which cannot be guessed), 0.9 of placing and
  4.4 of searching 260 states backwards: 17 ns a state, the chain cell, links, bits,
  direction, cell, and about one wrong guess.
- *Countdown*: instructions.  A task fills a table of the values of all subsets of its
  numbers, exact fractions; four numbers make 1,544 words, 12 KB, which stay in the
  first-level cache; a task takes some 12 us.
- *Search* (WebShop): the postings of the query's words, 8 bytes each, are read in
  order, and each adds to one score of 8 bytes somewhere: with 50,000 products 400 KB,
  in the second-level cache.  All scores are cleared and then looked at once a search.

Decisions and the figures behind them
-------------------------------------
Before and after, of the commit that made the change; other machines' states, so read
the ratios.

- Step kernels walk flat boards with tables of neighbours instead of rows and columns.
- Branches on what a random action meets are guessed wrong half of the time: the step
  of Sokoban is sums and bit sets, the slip is counted, not searched for.
- An unsigned loop index is not tested for being negative: a fifth of the step's time.
- A view of one grid costs a reference count, as dear as the step: kernels take the
  whole batch and a row's number.
- The reverse search keeps one record a board and one visited bit a cell, instead of
  hashing boards with the player in them.
- Infos of resets are written at their rows instead of being merged afterwards.

- Rooms on one thread, 6x6 with 3 boxes: 25.4 to 16.8 us (1 box: 6.8 to 4.2; 10x10
  with 4 boxes, the mean: 4.4 to 3.6 ms), by three things.  Twisters: 32 attempts are
  seeded abreast in lanes of 32 bits, 3.5 to 0.7 us an attempt.  Carving: four stores
  for nine read-modify-writes and tables in one packed word, 2.8 to 2.3 us.  The
  search: a stack of forks alone and a log of pulls, 27 to 23 ns a state; the state in
  words where a room has fewer than 64 cells and boxes, 17.
- Planes of Sokoban 6x6: 125 to 23 ns, over flat boards with unsigned indices, so that
  the inner loop becomes vectors.
- Texts of Sokoban 6x6: 88 to 65 ns a string more than a grid, the loop over cells
  innermost; half of what is left is numpy making the strings.
- One FrozenLake: of 2.0 us 0.48 is the call of the kernel and 0.43 the draw, which
  Gymnasium has, too.
- Threads: handing rows over costs 20 to 40 us, on some virtual machines 100, so a batch
  is split where each has `array_engine.STEP_ROWS_PER_THREAD` rows.  At 65,536
  environments a fifth of a step is not split (checks, resets, infos), which bounds two
  threads at 1.64 times one.

What did not pay
----------------
- A branch in place of the select was no slower where the compiler made a select of it
  anyway (0.43 ns both for three outcomes): worth a measurement each time, not a rule.
- Twisting all 624 words abreast: 1.1 us more an attempt, LLVM keeps it scalar; 8 or
  16 lanes whose number is known are unrolled and stay scalar, too.  Stopping the
  seeding at the words that are used: below 0.1 us once it is abreast.
- Leaving out searches whose box cannot move: a fifth of the searches, a hundredth of
  the states.
- PCG64's 128-bit product as one instruction: 0.99 of the time.  One decoding and a
  split at separators for texts: 54 to 70 ns a string for the split alone.
- Handing rooms out in small chunks: each pays for its own seeding, more than the
  imbalance of two halves (estimated, not built).
- Left on the table: streams of slips by field instead of by row, so that draws go
  abreast; a small buffer of words for each room that is drawn.
- Numba's error model ``numpy``: within the noise, so that the default stays.
- Instruction counts as a guard: this machine does not let `perf` count, and callgrind
  would run the compiler as well; not tried.  The guards in
  ``tests/benchmarks/test_speed.py`` are ratios within one process at a tenth of what is
  usual.
"""
