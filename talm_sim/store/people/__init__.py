"""People as judges of a stored run: the sample that they judge, their verdicts, and how far they and other judges agree."""
