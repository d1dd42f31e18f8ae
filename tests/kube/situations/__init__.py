"""Runs the situations of tests/kube/scheduling with kube-scheduler and with ours, and compares how they end."""
