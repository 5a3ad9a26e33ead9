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
nanoseconds an environment and step, the least of rounds on a quiet machine.  A *floor*
is a copy of as many bytes as the kernel must read and write.

============================  =====  ======  =====  ==================================
what                          bytes    cost  floor  what the rest is
============================  =====  ======  =====  ==================================
FrozenLake-v1, `step_rows`      102     3.7    1.0  1.7 for two look-ups that hang on
                                                    each other, one after the other;
                                                    in vectors 0.8 for a draw of PCG64
                                                    (128-bit product), 0.5 for the
                                                    slip, 0.7 for the results
Sokoban 6x6, `step_rows`         52     6.8    0.6  4.5 for three loads that hang on
                                                    each other and some forty integer
                                                    operations, no branch to guess;
                                                    0.8 for the results, in vectors
Sokoban, `place_rows`            72     1.1         a hundredth of the rows a step
grids shown (a copy)             72     1.0    0.8  memory
Sokoban 6x6, `write_planes`     288    13.3    3.2  seven comparisons a cell, each
                                                    plane in one vector of 64 for 36
whole step, FrozenLake-v1               8.9         5 above the kernel: actions are
                                                    checked, rows that ended are found
                                                    and reset, infos of resets, sums
                                                    of masks; 6.3 at 65,536
whole step, Sokoban, kept rooms        14.7         likewise; 5 of it choose and place
                                                    the rooms of resets; 9.6 at 65,536
============================  =====  ======  =====  ==================================

What is in vectors is near its memory; what is not are the look-ups of one environment,
each the address of the next, which the processor overlaps with those of its neighbours
as long as no branch is guessed wrong.  At 4096 environments the state stays in the
second-level cache, and a third of a step is calls of numpy that cost the same for one
row as for all.

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

- Flat boards with tables of neighbours instead of rows and columns: nothing by
  themselves (a whole step at 4096 of FrozenLake 52 to 45-70 ns, of Sokoban 33 to 35);
  what follows needs them.
- Selects, sums and bit sets instead of branches, which a random action makes guesses;
  an unsigned loop index, which is not tested for being negative; the whole batch and a
  row's number instead of a view, whose reference count is as dear as a step; infos of
  resets written at their rows instead of being merged afterwards: FrozenLake 46 to 15
  ns, Sokoban 35 to 20.
- Steps in passes over all rows, a kernel of its own for what must be looked up, so that
  the compiler makes vectors of the rest, and selects instead of branches, on who is
  skipped as well: FrozenLake 8.9 to 4.1 ns (a whole step at 4096 15.6 to 9.1, at 65,536
  13.0 to 6.1), Sokoban 10.3 to 5.7 (a whole step 20.6 to 15.4).
- For that, streams by field instead of by row: a draw of 1.9 ns becomes 0.8; and the
  carry of its sum by bits, since a comparison becomes an instruction that vectors lack
  (2.0 with it).  One table for who moves and who stays: 2.4 to 1.7 ns a look-up.
- The reverse search keeps one record a board and one visited bit a cell, instead of
  hashing boards with the player in them: 50 to 21 us a room of 6x6 with 3 boxes.
- Rooms on one thread, 6x6 with 3 boxes: 25.4 to 16.8 us (1 box: 6.8 to 4.2; 10x10
  with 4 boxes, the mean: 4.4 to 3.6 ms), by three things.  Twisters: 32 attempts are
  seeded abreast in lanes of 32 bits, 3.5 to 0.7 us an attempt.  Carving: four stores
  for nine read-modify-writes and tables in one packed word, 2.8 to 2.3 us.  The
  search: a stack of forks alone and a log of pulls, 27 to 23 ns a state; the state in
  words where a room has fewer than 64 cells and boxes, 17.
- Planes of Sokoban 6x6: 125 to 23 ns, over flat boards with unsigned indices, so that
  the inner loop becomes vectors; to 13 in whole vectors, which run over the end of a
  plane into the next one, that is written after it.  Pixels 36 to 26 ns, tiles of 16
  pixels 6.3 to 1.2 us a room, likewise over flat boards.
- Texts of Sokoban 6x6: 88 to 65 ns a string more than a grid, the loop over cells
  innermost; half of what is left is numpy making the strings.
- One FrozenLake: of 2.0 us 0.48 is the call of the kernel and 0.43 the draw, which
  Gymnasium has, too.
- Unroll of FrozenLake in those passes, step by step, results written where they stay:
  29 to 11 ns at 4096; of RandomFrozenLake in blocks of steps, so that the rows that
  wait for a map are not gone through for all of T: 82 to 48 ns.
- Threads: handing a part over costs 20 to 40 us, on virtual machines up to 130, as a
  sleeping thread has to be woken on each side.  What is to be split has become
  cheap: of 400 us for 65,536 lakes 250 are the kernel and 150 checks, resets and infos,
  so that two threads were 0.8 to 1.05 times one and lakes are now split from 131,072
  on, rooms from 65,536 (1.0 to 1.35 times).  Planes (1.1 to 1.6 times) and fresh rooms
  (1.4 to 1.7) gain more.  The rows of processes show what the cores give without it.

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
- Threads that spin instead of sleeping, with a compiled wait: 1.1 to 1.8 times one for
  planes, 0.85 to 1.15 for lakes, now and then 0.25 where both wanted the interpreter
  lock at once, and a spinning core is lost to others.  A part less for the threads that
  start later, a queue in place of the executor: within the noise.
- Left on the table: a small buffer of words for each room that is drawn.
- Numba's error model ``numpy``: within the noise, so that the default stays.
- Instruction counts as a guard: this machine does not let `perf` count, and callgrind
  would run the compiler as well; not tried.  The guards in
  ``tests/benchmarks/test_speed.py`` are ratios within one process at a tenth of what is
  usual.
"""
