"""Task `when2call` (When2Call, Ross et al., NAACL 2025): answer, call, ask or decline, when one of four is right."""
