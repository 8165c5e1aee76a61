"""Scenarios of task `awareness`: complete ones from several sources, and what is made of them so that the tools shown cannot serve.

Yang et al., "Can Tool-augmented Large Language Models be Aware of Incomplete Conditions?": section 3 and appendix A.2.
"""
