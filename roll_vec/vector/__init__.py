"""The vector environment over any engine: seeds, autoreset, infos, unrolls."""
