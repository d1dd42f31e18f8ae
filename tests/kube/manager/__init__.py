"""Plays `gangway manager` on the real kube-apiserver: its own account, RBAC on, kubelets of the harness, no other scheduler."""
