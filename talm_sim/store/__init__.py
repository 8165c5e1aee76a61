"""A run on disk, for whoever reads it or answers it: episodes, rows and summaries, open questions, people's verdicts, comments.

From the lowest layer up:

- `files/` are the files of a run, and the store that its owner writes
- `python_words.py` words errors for Python, `extensions.py` notes the plugins that a run uses
- `forms.py` says what a person may decide, `earlier_answers.py` finds what they answered in an earlier attempt
- `questions.py` keeps what episodes wait on, `desk.py` is where a person or a program answers it
- `tidy_tables.py` writes episodes as flat rows
- `causes.py` finds why many episodes ended alike, `result_screen.py` is the answer of a run on one screen
- `stored_run.py` reads a run, `kept_shards.py` keeps the shards of one that an engine plays
- `transcripts/` makes the transcript of an episode
- `people/` has people judge a stored run
- `listing.py` lists the runs of a directory, `housekeeping.py` renames and deletes them
"""
