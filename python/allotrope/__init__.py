"""Allotrope, a heap profiler for Linux: the program allo, and a plugin for pytest."""
