"""`talm-sim view`: the page of stored runs on loopback, live while a run goes on."""
