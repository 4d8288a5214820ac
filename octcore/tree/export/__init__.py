"""Exports of a tree, by modules of their own where libraries take a second to import."""
