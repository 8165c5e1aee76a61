"""Whether an English text states facts: names, numbers, dates and places as people write them. Judge `reference` reads answers with it."""
