"""A grid of runs that differ in some options, as one table.

From the lowest layer up:

- `grid.py` says which runs a grid has
- `grid_forecast.py` says what they would ask and cost
- `play_grid.py` runs them
"""
