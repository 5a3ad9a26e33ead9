"""Files: written whole, with digests, read without pickle; data loaded once.

In reading order:

===============  =====================================================================
`files`          whole writes
`data_files`     paths and digests of the data files of environments
`plain_data`     Python's plain values as bytes
`npz_files`      arrays and a header, any damage of which is detected
`process_cache`  objects that are built once a process
===============  =====================================================================
"""
