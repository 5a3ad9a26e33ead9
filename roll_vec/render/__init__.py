"""Pictures of grids: tile art, coloured text, mosaics, a window.

Everything here takes plain arrays and knows no environment.  Importing it needs numpy;
Pillow and pygame are imported by the functions that use them.
"""
