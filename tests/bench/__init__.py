"""Measures Gangway and the real Kubernetes API server side by side."""
