"""Addresses, names and Services between pods."""

from __future__ import annotations

import time
import urllib.request

from containers.cluster import ContainerCluster, Namespace, pod

SERVE = "mkdir /tmp/w; cd /tmp/w; echo {text} > index.html; exec python3 -m http.server {port}"
FETCH = "python3 -c \"import urllib.request as u; print(u.urlopen('http://{at}', timeout=5).read().decode().strip())\""


def serve(name: str, text: str, port: int = 8080, **more: object) -> dict:
    probe = {"readinessProbe": {"tcpSocket": {"port": port}, "periodSeconds": 1}, "ports": [{"containerPort": port}]}
    return pod(name, SERVE.format(text=text, port=port), container=probe, **more)


def service(name: str, selector: dict[str, str], port: int = 80, target: int = 8080, **more: object) -> dict:
    spec = {"selector": selector, "ports": [{"port": port, "targetPort": target}], **more}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def fetch(space: Namespace, client: str, at: str) -> str:
    return space.must("exec", client, "--", "sh", "-c", FETCH.format(at=at)).strip()


def test_pods_have_addresses_of_their_own(space: Namespace) -> None:
    space.apply(serve("a", "from-a"), serve("b", "from-b"), pod("client", "sleep 600"))
    space.wait_ready("a", "b", "client")
    addresses = {name: space.get("pod", name)["status"]["podIP"] for name in ("a", "b")}
    assert addresses["a"] != addresses["b"]
    for name, address in addresses.items():
        assert fetch(space, "client", f"{address}:8080") == f"from-{name}"


def test_a_service_is_reached_by_all_its_names(space: Namespace) -> None:
    space.apply(serve("web", "hello", labels={"app": "web"}), service("front", {"app": "web"}), pod("client", "sleep 600"))
    space.wait_ready("web", "client")
    for name in ("front", f"front.{space.name}", f"front.{space.name}.svc", f"front.{space.name}.svc.cluster.local"):
        space.until(lambda name=name: "hello" in space.run(
            "exec", "client", "--", "sh", "-c", FETCH.format(at=name)).stdout, name)  # fmt: skip
    address = space.get("service", "front")["spec"]["clusterIP"]
    assert fetch(space, "client", address) == "hello"
    # Through its own Service a pod reaches itself too.
    assert fetch(space, "web", "front") == "hello"


def test_a_node_port_is_reached_from_the_machine(space: Namespace) -> None:
    space.apply(serve("web", "outside", labels={"app": "web"}), service("front", {"app": "web"}, type="NodePort"))
    space.wait_ready("web")
    front = space.get("service", "front")["spec"]

    def answer(at: str) -> str:
        try:
            return urllib.request.urlopen(f"http://{at}", timeout=2).read().decode().strip()
        except OSError:
            return ""

    space.until(lambda: answer(f"{front['clusterIP']}:80") == "outside", "the cluster address from the machine")
    port = front["ports"][0]["nodePort"]
    gateway = space.must("exec", "web", "--", "sh", "-c", "ip route | sed -n 's/default via \\([^ ]*\\).*/\\1/p'").strip()
    space.until(lambda: answer(f"{gateway}:{port}") == "outside", "the node port")


def test_pods_of_a_headless_service_have_names(space: Namespace) -> None:
    common = {"labels": {"app": "ranks"}, "subdomain": "ranks"}
    space.apply(service("ranks", {"app": "ranks"}, clusterIP="None"),
                *(serve(f"rank-{n}", f"rank-{n}", hostname=f"rank-{n}", **common) for n in (0, 1)))  # fmt: skip
    space.wait_ready("rank-0", "rank-1")
    space.until(lambda: fetch(space, "rank-0", f"rank-1.ranks.{space.name}.svc.cluster.local:8080") == "rank-1", "its name")
    assert fetch(space, "rank-1", "rank-0.ranks:8080") == "rank-0"


def test_names_are_current_within_a_second_or_so(space: Namespace) -> None:
    space.apply(serve("web", "moved", labels={"app": "web"}), pod("client", "sleep 600"))
    space.wait_ready("web", "client")
    assert space.run("exec", "client", "--", "getent", "hosts", "soon").returncode != 0
    space.apply(service("soon", {"app": "web"}))
    begun = time.monotonic()
    space.until(lambda: space.run("exec", "client", "--", "getent", "hosts", "soon").returncode == 0, "the name")
    assert time.monotonic() - begun < 5


def test_two_jobs_use_one_port_and_never_meet(space: Namespace) -> None:
    for job in ("red", "blue"):
        space.apply(service(job, {"job": job}, port=23456, target=23456, clusterIP="None"),
                    serve(f"{job}-master", job, port=23456, labels={"job": job}),
                    pod(f"{job}-worker", "sleep 600"))  # fmt: skip
    space.wait_ready("red-master", "blue-master", "red-worker", "blue-worker")
    for job in ("red", "blue"):
        space.until(lambda job=job: space.run("exec", f"{job}-worker", "--", "sh", "-c",
                                              FETCH.format(at=f"{job}:23456")).stdout.strip() == job, job)  # fmt: skip


def test_hosts_and_resolver_settings(space: Namespace) -> None:
    output = space.run_to_end("resolv", "getent hosts db.example; cat /etc/resolv.conf; cat /etc/hostname",
                              hostAliases=[{"ip": "10.1.2.3", "hostnames": ["db.example"]}],
                              dnsConfig={"searches": ["corp.example"], "options": [{"name": "ndots", "value": "2"}]})  # fmt: skip
    assert "10.1.2.3" in output and "db.example" in output
    search = next(line for line in output.splitlines() if line.startswith("search"))
    assert search.split()[1:4] == [f"{space.name}.svc.cluster.local", "svc.cluster.local", "cluster.local"]
    assert "corp.example" in search and "ndots:2" in output


def test_clusters_on_one_machine_do_not_meet(space: Namespace) -> None:
    space.apply(serve("here", "first"))
    space.wait_ready("here")
    address = space.get("pod", "here")["status"]["podIP"]
    with ContainerCluster() as second, Namespace(second, "elsewhere") as other:
        other.apply(pod("client", "sleep 600"))
        other.wait_ready("client")
        script = FETCH.format(at=f"{address}:8080").replace("timeout=5", "timeout=3")
        assert other.run("exec", "client", "--", "sh", "-c", script).returncode != 0
        assert fetch(space, "here", f"{address}:8080") == "first"
