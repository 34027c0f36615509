"""Texts and their vectors -> immutable segments of an `.npz` cache."""
