"""Sections of the book, one paper or one question each. They turn results into parts of a page."""
