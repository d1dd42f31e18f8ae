"""Comparison of Gangway with the real Kubernetes control plane."""
