"""One module a category; each exports `router`. A new category is one more file here and one more seeds file.

- `calendar.py`, `fake_data.py`, `health.py`, `human_interact.py`, `jobs.py`, `language.py`, `music.py`, `sports.py` and
  `transportation.py` are categories in one file
- `art/`, `content/`, `developer_tools/`, `finance/`, `food/`, `games/`, `geo/`, `government/`, `inspiration/`, `open_data/`, `science/` and
  `weather/` are categories in several
"""

__all__: list[str] = []
