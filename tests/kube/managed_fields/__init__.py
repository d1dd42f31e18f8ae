"""Sequences of apply, update and patch by several managers, after each of which managedFields are compared."""
