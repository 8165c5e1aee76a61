"""The result tables of the four papers as data, with misprints marked, and the tables that are not at hand named."""

from talm_sim.tasks.paper.published.paper_tables import AbsentTable, Misprint, PublishedRow, PublishedTable, list_published, published

__all__ = ["AbsentTable", "Misprint", "PublishedRow", "PublishedTable", "list_published", "published"]
