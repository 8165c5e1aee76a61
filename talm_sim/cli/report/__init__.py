"""Show stored runs and episodes: tables, Markdown, JUnit, transcripts.

From the lowest layer up:

- `layout.py` decides columns and lines, the same for all forms of output
- `run_usage.py` counts what a run used
- `curves.py` draws curves
- `fault_notes.py` says what a run's faults did, `blocks.py` is a run as a block of a table: its title and notes
- `table_details.py` prints what is below the rows
- `result_table.py` prints the table, `markdown.py` writes it in Markdown, `against_paper.py` prints a run against a paper
- `printed_screen.py` prints what a run came to
- `comparison.py` prints a comparison, `people_agreement.py` how far people agree, `power_table.py` what a run can tell apart
- `outcome_matrix.py` lays out what an agent came to in each situation, `explanations.py` explains words
- `transcript.py` prints one episode, `junit.py` writes episodes as JUnit XML
- `report_files.py` writes files
"""
