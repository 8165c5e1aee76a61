"""Who generates: providers behind one small protocol (`base.Model`), opened by name (`registry.open_model`), and the scripted controls.

The lowest room: it knows neither tools nor graphs. What records traffic is handed in as an HTTP transport.
"""
