"""The catalogue: products, goals, search and rewards that all environments share.

Read ``catalogue`` first, then ``options`` (its keywords).  ``builder`` makes a
catalogue from files: ``files`` reads WebShop's files, ``title_nouns`` the nouns of
titles, ``goal_builder`` makes the goals.  ``storage`` saves and opens a catalogue in a
folder.  ``sharing`` does this once for all processes on a machine.
"""
