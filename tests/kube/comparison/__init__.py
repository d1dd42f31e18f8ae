"""Runs the cases of tests/kube/cases on two servers and compares what they answer."""
