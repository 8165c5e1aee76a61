"""Providers behind one small protocol: see `base.Model`, and `registry.open_model` to open one by name."""
