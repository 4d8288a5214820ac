"""Exports of a tree, each by a module of its own: some libraries take a second to import."""
