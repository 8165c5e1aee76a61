"""The hardening campaign: seeded attacks on the real program, printed as a table (`make campaign`)."""
