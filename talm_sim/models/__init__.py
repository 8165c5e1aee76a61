"""Models: providers behind one small protocol (`base.Model`), opened by name (`registry.open_model`), and the scripted controls.

This room knows neither tools nor graphs. What records traffic is passed in as an HTTP transport.
"""
