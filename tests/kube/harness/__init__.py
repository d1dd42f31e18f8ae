"""Starts servers for tests and talks to them: the real Kubernetes control plane, and Gangway's in its place."""
