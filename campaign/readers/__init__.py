"""Everything that reads what a model, a tool, a server or a person wrote, each with the beginnings behind which it does its work."""

from typing import Final

from campaign.readers import judges, models, others, scenarios
from campaign.readers.base import Reader

__all__ = ["READERS", "Reader"]

READERS: Final = (*models.READERS, *judges.READERS, *scenarios.READERS, *others.READERS)
