"""What a container finds in its environment."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from containers.cluster import Namespace


def config_map(name: str, data: dict[str, str]) -> dict:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def secret(name: str, data: dict[str, str]) -> dict:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}


def field(name: str, path: str) -> dict:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def test_variables_and_arguments_are_expanded(space: Namespace) -> None:
    env = [{"name": "A", "value": "one"}, {"name": "B", "value": "$(A)-$$(A)-$(NONE)"}]
    container = {"command": ["echo"], "args": ["$(B)", "$$(B)"], "env": env}
    assert space.run_to_end("expand", "", container=container) == "one-$(A)-$(NONE) $(B)\n"


def test_fields_and_resources_of_the_pod(space: Namespace) -> None:
    env = [
        field("NAME", "metadata.name"), field("SPACE", "metadata.namespace"), field("NODE", "spec.nodeName"),
        field("LABEL", "metadata.labels['team']"), field("IP", "status.podIP"), field("POD_UID", "metadata.uid"),
        {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}},
        {"name": "MEMORY", "valueFrom": {"resourceFieldRef": {"resource": "requests.memory", "divisor": "1Mi"}}},
    ]  # fmt: skip
    resources = {"limits": {"cpu": "500m"}, "requests": {"memory": "32Mi"}}
    container = {"env": env, "resources": resources}
    output = space.run_to_end("fields", 'echo "$NAME $SPACE $NODE $LABEL $IP $POD_UID $CPU $MEMORY"',
                              container=container, labels={"team": "blue"})  # fmt: skip
    pod = space.get("pod", "fields")
    assert output.split() == [
        "fields", space.name, pod["spec"]["nodeName"], "blue", pod["status"]["podIP"], pod["metadata"]["uid"],
        "500", "32",
    ]  # fmt: skip


def test_config_maps_and_secrets_by_key_and_whole(space: Namespace) -> None:
    space.apply(config_map("settings", {"rate": "0.1", "depth": "4"}), secret("keys", {"token": "s3cret"}))
    container = {
        "env": [
            {"name": "RATE", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "rate"}}},
            {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "token"}}},
            {"name": "NONE", "valueFrom": {"configMapKeyRef": {"name": "absent", "key": "x", "optional": True}}},
        ],
        "envFrom": [{"prefix": "ALL_", "configMapRef": {"name": "settings"}}],
    }
    output = space.run_to_end("maps", 'echo "$RATE $TOKEN [$NONE] $ALL_rate $ALL_depth"', container=container)
    assert output == "0.1 s3cret [] 0.1 4\n"


def test_a_missing_config_map_holds_the_container_until_it_is_there(space: Namespace) -> None:
    container = {"env": [{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "later", "key": "x"}}}]}
    space.create_pod("patient", "echo $X", container=container, restartPolicy="Never")
    status = space.wait_container("patient", lambda s: "waiting" in s["state"] and
                                  s["state"]["waiting"]["reason"] == "CreateContainerConfigError", "held")  # fmt: skip
    assert 'configmap "later" not found' in status["state"]["waiting"]["message"]
    space.apply(config_map("later", {"x": "here"}))
    space.wait_phase("patient", "Succeeded")
    assert space.logs("patient") == "here\n"


def test_the_working_directory_and_the_host_name(space: Namespace) -> None:
    output = space.run_to_end("where", "pwd; hostname", container={"workingDir": "/usr/share"})
    assert output == "/usr/share\nwhere\n"


def test_services_and_the_api_are_in_the_environment(space: Namespace) -> None:
    space.must("create", "service", "clusterip", "store", "--tcp=6379:6379")
    output = space.run_to_end("svc", 'echo "$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT $STORE_SERVICE_PORT"')
    assert output == "10.96.0.1:443 6379\n"


def test_a_pod_talks_to_the_api_with_its_own_token(space: Namespace) -> None:
    space.must("create", "role", "reader", "--verb=get,list", "--resource=pods")
    space.must("create", "rolebinding", "reader", "--role=reader", f"--serviceaccount={space.name}:default")
    script = """
exec python3 - <<'END'
import json, os, ssl, urllib.error, urllib.request
here = "/var/run/secrets/kubernetes.io/serviceaccount/"
token, space = open(here + "token").read(), open(here + "namespace").read()
trust = ssl.create_default_context(cafile=here + "ca.crt")
def ask(what, host):
    url = f"https://{host}/api/v1/namespaces/{space}/{what}"
    request = urllib.request.Request(url, headers={"Authorization": "Bearer " + token})
    try:
        return json.load(urllib.request.urlopen(request, context=trust, timeout=10))
    except urllib.error.HTTPError as refused:
        return json.load(refused)
host = os.environ["KUBERNETES_SERVICE_HOST"] + ":" + os.environ["KUBERNETES_SERVICE_PORT"]
print([p["metadata"]["name"] for p in ask("pods", host)["items"]])
print([p["metadata"]["name"] for p in ask("pods", "kubernetes.default.svc")["items"]])
print(ask("secrets", host)["reason"])
END
"""
    assert space.run_to_end("caller", script) == "['caller']\n['caller']\nForbidden\n"


def reporting_pod(space: Namespace, name: str, program: str) -> Callable[[], dict[str, dict]]:
    """A pod that runs a program with the Python package; what its status says of the program's reports."""
    package = Path(__file__).resolve().parents[2] / "python" / "gangway" / "__init__.py"
    space.apply(config_map("package", {"__init__.py": package.read_text()}))
    container = {
        "command": ["/usr/bin/python3", "-c", program], "env": [{"name": "PYTHONPATH", "value": "/mnt/lib"}],
        "volumeMounts": [{"name": "package", "mountPath": "/mnt/lib/gangway"}],
    }  # fmt: skip
    space.create_pod(name, "", container=container, securityContext={"runAsUser": 65534}, restartPolicy="Never",
                     volumes=[{"name": "package", "configMap": {"name": "package"}}])  # fmt: skip

    def conditions() -> dict[str, dict]:
        found = space.get("pod", name).get("status", {}).get("conditions", [])
        return {each["type"]: each for each in found if each["type"].startswith("gangway.dev/")}

    return conditions


def test_what_a_program_reports_is_in_its_pods_status(space: Namespace) -> None:
    """The node agent tells what the program leaves in /dev/gangway, as the Python package does it."""
    conditions = reporting_pod(
        space, "reporter",
        "import gangway, time\n"
        "gangway.checkpoint('/ckpt/3.pt')\n"
        "gangway.progress(epoch=3, step=10, total=40, loss=0.25)\n"
        "time.sleep(3600)\n",
    )  # fmt: skip
    space.until(lambda: len(conditions()) == 2, "the report to be told")
    assert conditions()["gangway.dev/Checkpoint"]["message"] == "/ckpt/3.pt"
    assert json.loads(conditions()["gangway.dev/Progress"]["message"]) == {
        "epoch": 3, "step": 10, "total": 40, "loss": 0.25,
    }  # fmt: skip


def test_the_last_report_of_a_program_is_not_lost(space: Namespace) -> None:
    """Programs save what they have when they are told to go, and then they go: nobody has looked in between."""
    conditions = reporting_pod(
        space, "last-words",
        "import gangway\n"
        "gangway.progress(epoch=1, step=5, total=40)\n"
        "gangway.progress(epoch=4, step=40, total=40)\n"
        "gangway.checkpoint('/ckpt/4.pt')\n",
    )  # fmt: skip
    space.until(lambda: space.get("pod", "last-words")["status"]["phase"] == "Succeeded", "the program to end")
    space.until(lambda: "gangway.dev/Checkpoint" in conditions(), "the last report", deadline=5)
    assert conditions()["gangway.dev/Checkpoint"]["message"] == "/ckpt/4.pt"
    told = json.loads(conditions()["gangway.dev/Progress"]["message"])
    assert told.pop("since")["step"] == 5, "where it began"
    assert told == {"epoch": 4, "step": 40, "total": 40}
