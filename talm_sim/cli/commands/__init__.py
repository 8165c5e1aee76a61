"""One module for each command of `talm-sim`; each exports `command` and imports the machinery of episodes only when it is called.

- `run.py`, `resume.py`, `ablate.py` and `judge.py` run and judge, `answer.py` answers what a run asks, `trying.py` is `talm-sim try`
- `runs.py`, `show.py`, `report.py`, `explain.py`, `compare.py` and `view.py` read runs
- `training_rows.py` writes rows for training, `train.py` trains on them
- `export.py` and `importing.py` exchange runs with other programs
- `tasks.py`, `tools.py`, `models.py` and `perturbations.py` say what there is
- `translate.py` and `scenarios.py` read and make scenarios
- `config.py`, `doctor.py` and `completion.py` set the program up
"""
