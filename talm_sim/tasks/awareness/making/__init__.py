"""Make scenarios of task `awareness`: read complete ones from several sources, and manipulate them so that the tools shown cannot serve.

Yang et al., "Can Tool-augmented Large Language Models be Aware of Incomplete Conditions?": section 3 and appendix A.2.

From the lowest layer up:

- `loaded.py` is what reading a source gives
- `value_spellings.py` finds a value in a text, `cutting.py` cuts words out of a sentence
- `apibank_apis.py`, `apibank.py` and `toolbench.py` read API-Bank and ToolBench, `study.py` the study's own files
- `serving.py` tries whether a tool can give what is asked, `pool.py` holds the APIs that can replace another
- `replace.py` swaps the needed tools, `remove.py` cuts the needed words out
- `item_checks.py` checks whether a scenario really cannot be served
- `written.py` writes a conversation for a writing model, and reads it back
- `manipulation.py` manipulates one scenario
- `review.py` is what a person decides on
"""
