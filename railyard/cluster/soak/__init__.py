"""Loads all links for hours: reads what they carried, which errors grew, and which links went down and up."""
