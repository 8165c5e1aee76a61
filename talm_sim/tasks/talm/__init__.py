"""Task `talm` (Fail-TaLMs, Treviño et al., NAACL 2025): under-specified queries and unavailable tools, with or without a person to ask."""
