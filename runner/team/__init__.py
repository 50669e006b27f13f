"""Teammates and their cycle; no knowledge of models."""
