"""Sections of the book: from results to parts of a page, one paper or one question each."""
