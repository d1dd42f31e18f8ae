"""Wrong submissions and manifests of every kind of job: each is refused with one clear message, and nothing is created."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.arena_user import Arena
from e2e.gpu_cluster import gpu_cluster
from e2e.training_jobs import a_job
from e2e.user import User, name
from kube.harness.gangway import GangwayCluster


@pytest.fixture(scope="module")
def cluster(kubectl: Path) -> Iterator[GangwayCluster]:
    with gpu_cluster(kubectl) as started:
        yield started


@pytest.fixture
def user(cluster: GangwayCluster, kubectl: Path) -> User:
    return User(kubectl, cluster, "default")


def everything(user: User) -> set[str]:
    """All that is in the namespace, of every kind that can be listed; events tell of the past."""
    kinds = user.does("api-resources", "--namespaced", "--verbs=list", "-o", "name").split()
    kinds = [kind for kind in kinds if not kind.startswith(("events", "pods.metrics"))]
    return {f"{thing['kind']}/{name(thing)}" for thing in user.sees(",".join(kinds))}


# ── arena ──

TOLERATION = (
    "--toleration: must be `all`, KEY=VALUE:EFFECT or KEY=VALUE:EFFECT,OPERATOR, with an effect of NoSchedule, "
    "PreferNoSchedule or NoExecute (got {})"
)
NAME = "--name: must be lower-case letters, digits and '-', begin with a letter and end with a letter or digit (got {})"
QUANTITY = "must be a quantity such as 2, 500m or 4Gi (got {})"
DURATION = "must be a duration such as 90s or 1h30m (got {})"
IMAGE = "must be an image's name, as registry/repository:tag (got {})"
OK = ["--name=a", "--image=i"]

# What is checked before a server is asked: all that is wrong is said, a line each; here it is one thing.
SUBMISSIONS: list[tuple[list[str], str]] = [
    (["mpi", "--image=i", "x"], "--name: must be set"),
    (["mpi", "--name=a", "x"], "--image: must be set"),
    (["mpi", *OK], "COMMAND: not found command args: say what the job is to run, behind the flags"),
    (["mpi", "--name=A", "--image=i", "x"], NAME.format("A")),
    (["mpi", "--name=a.b", "--image=i", "x"], NAME.format("a.b")),
    (["mpi", "--name=9a", "--image=i", "x"], NAME.format("9a")),
    (["pytorch", f"--name={'a' * 50}", "--image=i", "x"],
     f"--name: {'a' * 50} has 50 characters; at most 49 are allowed"),
    (["rayjob", f"--name={'a' * 48}", "--image=i", "--worker-replicas=1", "x"],
     f"--name: {'a' * 48} has 48 characters; at most 47 are allowed"),
    (["mpi", "--name=a", "--image=my image", "x"], "--image: " + IMAGE.format("my image")),
    (["pytorch", "--name=a", "--image=repo:", "x"], "--image: " + IMAGE.format("repo:")),
    (["tf", "--name=a", "--image=Repo/Image", "x"], "--image: " + IMAGE.format("Repo/Image")),
    (["tf", *OK, "--ps=1", "--ps-image=http://x", "x"], "--ps-image: " + IMAGE.format("http://x")),
    (["rayjob", *OK, "--worker-replicas=1", "--head-image=a b", "x"], "--head-image: " + IMAGE.format("a b")),
    (["mpi", *OK, "--priority=urgent", "x"],
     "--priority: the priority class urgent does not exist; there are: critical, medium, "
     "system-cluster-critical, system-node-critical"),
    (["mpi", *OK, "--gpus=-1", "x"], "--gpus: must be at least 0 (got -1)"),
    (["mpi", *OK, "--workers=0", "x"], "--workers: must be at least 1 (got 0)"),
    (["pytorch", *OK, "--workers=-2", "x"], "--workers: must be at least 1 (got -2)"),
    (["tf", *OK, "--workers=0", "x"], "--workers: must be at least 1 where there is no --chief"),
    (["tf", *OK, "--ps=-1", "x"], "--ps: must be at least 0 (got -1)"),
    (["mpi", *OK, "--retry=-1", "x"], "--retry: must be at least 0 (got -1)"),
    (["mpi", *OK, "--cpu=lots", "x"], "--cpu: " + QUANTITY.format("lots")),
    (["mpi", *OK, "--cpu=-1", "x"], "--cpu: must not be negative (got -1)"),
    (["mpi", *OK, "--memory=1Gb", "x"], "--memory: " + QUANTITY.format("1Gb")),
    (["pytorch", *OK, "--share-memory=x", "x"], "--share-memory: " + QUANTITY.format("x")),
    (["mpi", *OK, "--share-memory=2Gib", "x"], "--share-memory: " + QUANTITY.format("2Gib")),
    (["tf", *OK, "--worker-cpu-limit=much", "x"], "--worker-cpu-limit: " + QUANTITY.format("much")),
    (["mpi", *OK, "--env=A", "x"], "--env: must be KEY=VALUE (got A)"),
    (["mpi", *OK, "--env==b", "x"], "--env: must be KEY=VALUE (got =b)"),
    (["mpi", *OK, "--label=a", "x"], "--label: must be KEY=VALUE (got a)"),
    (["mpi", *OK, "--annotation=a", "x"], "--annotation: must be KEY=VALUE (got a)"),
    (["mpi", *OK, "--selector=zone", "x"], "--selector: must be KEY=VALUE (got zone)"),
    (["tf", *OK, "--worker-selector=zone", "x"], "--worker-selector: must be KEY=VALUE (got zone)"),
    (["mpi", *OK, "--toleration=gpu", "x"], TOLERATION.format("gpu")),
    (["mpi", *OK, "--toleration=a=b:Sometimes", "x"], TOLERATION.format("a=b:Sometimes")),
    (["mpi", *OK, "--toleration=a=b:NoSchedule,Near", "x"], TOLERATION.format("a=b:NoSchedule,Near")),
    (["mpi", *OK, "--toleration=a=b:NoSchedule,Exists", "x"],
     "--toleration: the operator Exists takes no value (got a=b:NoSchedule,Exists)"),
    (["mpi", *OK, "--data=claim", "x"], "--data: must be CLAIM:/path (got claim)"),
    (["mpi", *OK, "--data=:/data", "x"], "--data: the claim's name is too short (got :/data)"),
    (["mpi", *OK, "--data=claim:data", "x"], "--data: the path must begin with / (got claim:data)"),
    (["mpi", *OK, "--data=claim:/", "x"], "--data: must not be mounted over / (got claim:/)"),
    (["mpi", *OK, "--data=claim:/a", "--data=claim:/b", "x"], "--data: the claim claim is given twice"),
    (["mpi", *OK, "--data=one:/a", "--data=two:/a", "x"], "--data: /a is mounted twice"),
    (["mpi", *OK, "--data-dir=here", "x"], "--data-dir: the path must begin with / (got here)"),
    (["mpi", *OK, "--device=amd.com/gpu", "x"], "--device: must be RESOURCE=COUNT, as amd.com/gpu=1 (got amd.com/gpu)"),
    (["mpi", *OK, "--device=amd.com/gpu=two", "x"], "--device: " + QUANTITY.format("two")),
    (["mpi", *OK, "--device=gpu=1", "x"], "--device: a device's name has a domain, as amd.com/gpu (got gpu)"),
    (["mpi", *OK, "--device=nvidia.com/gpu=1", "x"], "--device: nvidia.com/gpu is asked for with --gpus"),
    (["mpi", *OK, "--sync-mode=svn", "--sync-source=s", "x"], "--sync-mode: must be one of git, rsync (got svn)"),
    (["mpi", *OK, "--sync-mode=git", "x"], "--sync-source: must be set when --sync-mode is set"),
    (["mpi", *OK, "--sync-source=s", "x"], "--sync-mode: must be git or rsync when --sync-source is set"),
    (["mpi", *OK, "--shell=fish", "x"], "--shell: must be one of sh, bash (got fish)"),
    (["mpi", *OK, "--image-pull-policy=Often", "x"],
     "--image-pull-policy: must be one of Always, IfNotPresent, Never (got Often)"),
    (["mpi", *OK, "--image-pull-secret=A_B", "x"], "--image-pull-secret: must be the name of a Secret (got A_B)"),
    (["mpi", *OK, "--working-dir=root", "x"], "--working-dir: must be a path that begins with / (got root)"),
    (["mpi", *OK, "--clean-task-policy=Some", "x"], "--clean-task-policy: must be one of None, Running, All (got Some)"),
    (["mpi", *OK, "--on-preempt=cry", "x"], "--on-preempt: must be one of fail, requeue, shrink (got cry)"),
    (["mpi", *OK, "--on-preempt=shrink", "x"],
     "--on-preempt: shrink needs --min-workers: what is not elastic cannot shrink"),
    (["mpi", *OK, "--min-workers=3", "x"], "--min-workers: must not be above --workers (got 3, of 1)"),
    (["pytorch", *OK, "--workers=2", "--min-workers=0", "x"], "--min-workers: must be at least 1 (got 0)"),
    (["et", *OK, "--workers=4", "--max-workers=3", "x"], "--max-workers: must not be below --workers (got 3, of 4)"),
    (["mpi", *OK, "--checkpoint-dir=ckpt", "x"], "--checkpoint-dir: must be a path that begins with / (got ckpt)"),
    (["mpi", *OK, "--min-runtime=soon", "x"], "--min-runtime: " + DURATION.format("soon")),
    (["mpi", *OK, "--expected-duration=0s", "x"], "--expected-duration: must be more than 0s (got 0s)"),
    (["pytorch", *OK, "--running-timeout=long", "x"], "--running-timeout: " + DURATION.format("long")),
    (["pytorch", *OK, "--ttl-after-finished=-1s", "x"], "--ttl-after-finished: must be at least 0s (got -1s)"),
    (["rayjob", *OK, "--worker-replicas=1", "--active-deadline-seconds=0s", "x"],
     "--active-deadline-seconds: must be more than 0s (got 0s)"),
    (["pytorch", *OK, "--nproc-per-node=0", "x"],
     "--nproc-per-node: must be auto, cpu, gpu or a number above 0 (got 0)"),
    (["tf", *OK, "--success-policy=One", "x"], "--success-policy: must be one of ChiefWorker, AllWorkers (got One)"),
    (["tf", *OK, "--role-sequence=Boss", "x"],
     "--role-sequence: must be roles with commas between them, as Worker,PS,Chief (got Boss)"),
    (["tf", *OK, "--worker-port=70000", "x"], "--worker-port: must be a port, or 0 for the usual one (got 70000)"),
    (["horovod", *OK, "--ssh-port=-1", "x"], "--ssh-port: must be a port (got -1)"),
    (["rayjob", *OK, "x"], "--worker-replicas: must be set"),
    (["rayjob", *OK, "--worker-replicas=5", "--worker-min-replicas=4", "--worker-max-replicas=3", "x"],
     "--worker-min-replicas: must not be above --worker-max-replicas (got 4 and 3)"),
    (["rayjob", *OK, "--worker-replicas=5", "--worker-min-replicas=1", "--worker-max-replicas=3", "x"],
     "--worker-replicas: must be between --worker-min-replicas and --worker-max-replicas (got 5, between 1 and 3)"),
    (["rayjob", *OK, "--worker-replicas=1", "--suspend", "--shutdown-after-finished=false", "x"],
     "--suspend: needs --shutdown-after-finished: only such a Ray job can be suspended"),
    (["mpi", *OK, "--queue=team", "x"],
     "--queue: namespace default has no queue team; it has none"),
]  # fmt: skip

# What the command line itself does not have, or cannot read.
COMMAND_LINES: list[tuple[list[str], str]] = [
    (["submit", "mpi", *OK, "--gpus=one", "x"], "--gpus: must be a whole number (got one)"),
    (["submit", "mpi", *OK, "--workers=1.5", "x"], "--workers: must be a whole number (got 1.5)"),
    (["submit", "mpi", *OK, "--colour=red", "x"], "unknown flag: --colour"),
    (["submit", "caffe", *OK, "x"], "unknown command or argument: caffe"),
    (["get", "nobody"], "the training job nobody does not exist in namespace default; `arena submit` makes one"),
    (["delete", "nobody"], "the training job nobody does not exist in namespace default; `arena submit` makes one"),
    (["list", "-o", "xml"], "--output: must be one of [wide|json|yaml] (got xml)"),
]


@pytest.mark.parametrize(("given", "message"), SUBMISSIONS, ids=[case[1][:60] for case in SUBMISSIONS])
def test_a_wrong_submission(cluster: GangwayCluster, given: list[str], message: str) -> None:
    done = Arena(cluster).tries("submit", *given)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"ERRO[0000] failed to validate command args: {message}\n"


@pytest.mark.parametrize(("given", "message"), COMMAND_LINES, ids=[case[1] for case in COMMAND_LINES])
def test_a_wrong_command_line(cluster: GangwayCluster, given: list[str], message: str) -> None:
    done = Arena(cluster).tries(*given)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("ERRO[0000] ") and message in done.stderr


def test_a_file_that_cannot_be_read(cluster: GangwayCluster, tmp_path: Path) -> None:
    missing = tmp_path / "missing.conf"
    done = Arena(cluster).tries("submit", "mpi", *OK, f"--config-file={missing}:/etc/x/y", "x")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(
        f"ERRO[0000] failed to validate command args: --config-file: {missing} cannot be read: "
    )


def test_all_that_is_wrong_is_said_at_once(cluster: GangwayCluster) -> None:
    done = Arena(cluster).tries("submit", "pytorch", "--name=A", "--env=B", "--workers=0", "x")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"ERRO[0000] failed to validate command args: {each}"
        for each in (NAME.format("A"), "--env: must be KEY=VALUE (got B)", "--workers: must be at least 1 (got 0)",
                     "--image: must be set")  # fmt: skip
    ]


# ── manifests ──

ONE = {"count": 1, "gpus": 1}
TEMPLATE: dict[str, Any] = {"spec": {"containers": [{"name": "c", "image": "i"}]}}


def put(manifest: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The manifest with that in it: "spec.a.0.b"; a value of None takes it out."""
    whole: dict[str, Any] = json.loads(json.dumps(manifest))
    at: Any = whole
    *parents, last = path.split(".")
    for step in parents:
        at = at[int(step)] if step.isdigit() else at.setdefault(step, {})
    if value is None:
        del at[last]
    else:
        at[last] = value
    return whole


def torch(path: str, value: Any, **more: Any) -> dict[str, Any]:
    return put(a_job("PyTorchJob", "wrong", {"Master": ONE, "Worker": {"count": 2, "gpus": 1}}, **more), path, value)


def tf(path: str, value: Any) -> dict[str, Any]:
    return put(a_job("TFJob", "wrong", {"Worker": ONE, "Chief": ONE}), path, value)


def mpi(version: str, path: str, value: Any) -> dict[str, Any]:
    job = a_job("MPIJob", "wrong", {"Launcher": {"count": 1, "gpus": 0}, "Worker": ONE}, version=version)
    return put(job, path, value)


def early_mpi(path: str, value: Any) -> dict[str, Any]:
    job = {"apiVersion": "kubeflow.org/v1alpha1", "kind": "MPIJob", "metadata": {"name": "wrong"},
           "spec": {"replicas": 1, "template": TEMPLATE}}  # fmt: skip
    return put(job, path, value)


RAY = {"headGroupSpec": {"template": TEMPLATE},
       "workerGroupSpecs": [{"groupName": "w", "replicas": 1, "minReplicas": 1, "maxReplicas": 2,
                             "template": TEMPLATE}]}  # fmt: skip


def ray_cluster(path: str, value: Any) -> dict[str, Any]:
    return put({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "wrong"}, "spec": RAY}, path, value)


def ray_job(path: str, value: Any, **more: Any) -> dict[str, Any]:
    spec = {"entrypoint": "python x.py", "rayClusterSpec": RAY, **more}
    return put({"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "wrong"}, "spec": spec}, path, value)


def batch(path: str, value: Any) -> dict[str, Any]:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "wrong"},
           "spec": {"completionMode": "Indexed", "completions": 2, "parallelism": 2, "template": template}}  # fmt: skip
    return put(job, path, value)


LONG = "a" * 60
TORCH = "spec.pytorchReplicaSpecs"
MPI = "spec.mpiReplicaSpecs"
GROUP = "spec.workerGroupSpecs"
DNS1035 = ("a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
           "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
           "'[a-z]([-a-z0-9]*[a-z0-9])?')")  # fmt: skip
PORT_TWICE = [{"name": "a", "containerPort": 1}, {"name": "a", "containerPort": 2}]

# A manifest, and what is said of it behind `The <kind> "<name>" is invalid: `.
MANIFESTS: list[tuple[dict[str, Any], str]] = [
    # PyTorchJob
    (torch(f"{TORCH}.Worker.replicas", -1),
     f"{TORCH}.Worker.replicas: Invalid value: -1: {TORCH}.Worker.replicas in body should be greater than or equal to 0"),
    (torch(f"{TORCH}.Master.replicas", 2), f"{TORCH}.Master.replicas: Invalid value: 2: there is one Master at most: must be 1"),
    (torch(f"{TORCH}.Master.template", None),
     f"{TORCH}.Master.template.spec.containers: Required value: a container called pytorch is needed"),
    (torch(f"{TORCH}.Worker.restartPolicy", "Sometimes"),
     f'{TORCH}.Worker.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never", "ExitCode"'),
    (torch(f"{TORCH}.Worker.template.spec.containers.0.image", None),
     f"{TORCH}.Worker.template.spec.containers[0].image: Required value"),
    (torch(f"{TORCH}.Worker.template.spec.containers.0.ports", PORT_TWICE),
     f'{TORCH}.Worker.template.spec.containers[0].ports[1].name: Duplicate value: "a"'),
    (torch(f"{TORCH}.Worker.template.spec.containers.0.ports", [{"containerPort": 70000}]),
     f"{TORCH}.Worker.template.spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"),
    (torch(f"{TORCH}.Worker.template.spec.containers.0.resources", {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
     f'{TORCH}.Worker.template.spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'),
    (torch(f"{TORCH}.Worker.template.spec.containers.0.volumeMounts", [{"name": "data", "mountPath": "/d"}]),
     f'{TORCH}.Worker.template.spec.containers[0].volumeMounts[0].name: Not found: "data"'),
    (torch(f"{TORCH}.Worker.template.spec.tolerations", [{"key": "a", "operator": "Near"}]),
     f'{TORCH}.Worker.template.spec.tolerations[0].operator: Unsupported value: "Near": supported values: "Equal", "Exists"'),
    (torch("metadata.name", "9job"), f'metadata.name: Invalid value: "9job": {DNS1035}'),
    (torch(f"{TORCH}.Boss", {"replicas": 1, "template": TEMPLATE}),
     f'{TORCH}[Boss]: Unsupported value: "Boss": supported values: "Master", "Worker"'),
    (torch("spec.elasticPolicy", {"minReplicas": 3, "maxReplicas": 2}),
     "spec.elasticPolicy.minReplicas: Invalid value: 3: must not be more than spec.elasticPolicy.maxReplicas (2)"),
    (torch("spec.nprocPerNode", "many"), 'spec.nprocPerNode: Invalid value: "many": must be auto, cpu, gpu or a number above 0'),
    (torch("spec.runPolicy.ttlSecondsAfterFinished", -1),
     "spec.runPolicy.ttlSecondsAfterFinished: Invalid value: -1: spec.runPolicy.ttlSecondsAfterFinished in body should be greater than or equal to 0"),
    (torch("spec.runPolicy.cleanPodPolicy", "Some"),
     'spec.runPolicy.cleanPodPolicy: Unsupported value: "Some": supported values: "", "None", "Running", "All"'),
    (torch("spec.runPolicy.schedulingPolicy.minAvailable", 9),
     "spec.runPolicy.schedulingPolicy.minAvailable: Invalid value: 9: must not be more than all replicas (3)"),
    (torch("metadata.annotations", {"gangway.dev/on-preempt": "cry"}),
     'metadata.annotations[gangway.dev/on-preempt]: Unsupported value: "cry": supported values: "Fail", "Requeue", "Shrink"'),
    (torch("metadata.annotations", {"gangway.dev/min-runtime": "soon"}),
     'metadata.annotations[gangway.dev/min-runtime]: Invalid value: "soon": must be a duration such as 90s, 10m or 1h30m'),
    # TFJob
    (tf("spec.tfReplicaSpecs.Chief.replicas", 2),
     "spec.tfReplicaSpecs.Chief.replicas: Invalid value: 2: there is one Chief at most"),
    (tf("spec.tfReplicaSpecs.Master", {"replicas": 1, "template": {"spec": {"containers": [{"name": "tensorflow", "image": "i"}]}}}),
     "spec.tfReplicaSpecs.Master: Forbidden: there is a Chief already"),
    (tf("spec.successPolicy", "Most"), 'spec.successPolicy: Unsupported value: "Most": supported values: "", "AllWorkers"'),
    (tf("metadata.name", LONG),
     f'metadata.name: Invalid value: "{LONG}": its pod {LONG}-chief-0 would have more than 63 characters in its name'),
    # MPIJob of v1alpha1
    (early_mpi("spec.replicas", 0), "spec.replicas: Invalid value: 0: spec.replicas in body should be greater than or equal to 1"),
    (early_mpi("spec.gpus", 4), "spec.gpus: Forbidden: spec.replicas says it already"),
    (early_mpi("spec.replicas", None), "spec.replicas: Required value: or one of gpus, processingUnits"),
    (early_mpi("spec.template.spec.containers", []), "spec.template.spec.containers: Required value: the first one runs mpirun"),
    (early_mpi("spec.template.spec.containers.0.env", [{"name": "A=B", "value": "x"}]),
     'spec.template.spec.containers[0].env[0].name: Invalid value: "A=B": a valid environment variable name must consist only of printable ASCII characters other than \'=\''),
    # MPIJob of v1 and v2beta1
    (mpi("v1", f"{MPI}.Launcher", None), f"{MPI}.Launcher: Required value: it runs mpirun"),
    (mpi("v1", f"{MPI}.Launcher.replicas", 2), f"{MPI}.Launcher.replicas: Invalid value: 2: there is one Launcher: must be 1"),
    (mpi("v1", "spec.slotsPerWorker", 0),
     "spec.slotsPerWorker: Invalid value: 0: spec.slotsPerWorker in body should be greater than or equal to 1"),
    (mpi("v2beta1", "spec.replicas", 2),
     "spec.replicas: Forbidden: this is an MPIJob of kubeflow.org/v2beta1, which does not have it"),
    (mpi("v2beta1", f"{MPI}.Worker.replicas", 0), f"{MPI}.Worker.replicas: Invalid value: 0: must be at least 1 (got 0)"),
    (mpi("v2beta1", f"{MPI}.Worker.restartPolicy", "Always"),
     f'{MPI}.Worker.restartPolicy: Unsupported value: "Always": supported values: "Never", "OnFailure"'),
    (mpi("v2beta1", "spec.mpiImplementation", "LAM"),
     'spec.mpiImplementation: Unsupported value: "LAM": supported values: "OpenMPI", "Intel", "MPICH"'),
    (mpi("v2beta1", "spec.sshAuthMountPath", "keys"), 'spec.sshAuthMountPath: Invalid value: "keys": must be an absolute path'),
    (mpi("v2beta1", "metadata.annotations", {"gangway.dev/min-workers": "3", "gangway.dev/max-workers": "2"}),
     'metadata.annotations[gangway.dev/min-workers]: Invalid value: "3": must not be more than annotation gangway.dev/max-workers (2)'),
    # RayCluster
    (ray_cluster("spec.headGroupSpec", None), "spec.headGroupSpec: Required value"),
    (ray_cluster(f"{GROUP}.0.minReplicas", 3), f"{GROUP}[0].minReplicas: Invalid value: 3: must not be more than maxReplicas (2)"),
    (ray_cluster(f"{GROUP}.0.replicas", -1),
     f"{GROUP}[0].replicas: Invalid value: -1: {GROUP}[0].replicas in body should be greater than or equal to 0"),
    (ray_cluster(f"{GROUP}.0.groupName", "headgroup"), f'{GROUP}[0].groupName: Invalid value: "headgroup": is the name of the head\'s group'),
    (ray_cluster(GROUP, RAY["workerGroupSpecs"] * 2), f'{GROUP}[1].groupName: Duplicate value: "w"'),
    (ray_cluster("spec.headGroupSpec.template.spec.containers.0.resources", {"limits": {"memory": "lots"}}),
     'spec.headGroupSpec.template.spec.containers[0].resources.limits[memory]: Invalid value: "lots": must be a quantity, such as 2, 500m or 4Gi'),
    (ray_cluster("metadata.name", LONG), f'metadata.name: Invalid value: "{LONG}": must be no more than 53 characters: other names are made of it'),
    # RayJob
    (ray_job("spec.clusterSelector", {"ray.io/cluster": "c"}), "spec.rayClusterSpec: Forbidden: spec.clusterSelector names a cluster already"),
    (ray_job("spec.rayClusterSpec", None), "spec.rayClusterSpec: Required value: or clusterSelector, the name of a cluster that is there"),
    (ray_job("spec.entrypoint", None), "spec.entrypoint: Required value: the command line of the program"),
    (ray_job("spec.runtimeEnvYAML", "- a\n- b\n"), 'spec.runtimeEnvYAML: Invalid value: "- a\\n- b\\n": must be one YAML object'),
    (ray_job("spec.runtimeEnvYAML", "pip: [a"),
     'spec.runtimeEnvYAML: Invalid value: "pip: [a": YAML: line 1 column 1: end of sequence flow not found'),
    (ray_job("spec.entrypointResources", "4 TPUs"), 'spec.entrypointResources: Invalid value: "4 TPUs": must be a JSON object, as {"TPU": 4}'),
    (ray_job("spec.submissionMode", "Carrier"),
     'spec.submissionMode: Unsupported value: "Carrier": supported values: "K8sJobMode", "HTTPMode", "InteractiveMode", "SidecarMode"'),
    (ray_job("spec.suspend", True), "spec.suspend: Invalid value: true: only a job with spec.shutdownAfterJobFinishes: true can be suspended"),
    (ray_job("spec.ttlSecondsAfterFinished", -1, shutdownAfterJobFinishes=True),
     "spec.ttlSecondsAfterFinished: Invalid value: -1: spec.ttlSecondsAfterFinished in body should be greater than or equal to 0"),
    (ray_job("spec.ttlSecondsAfterFinished", 5), "spec.ttlSecondsAfterFinished: Invalid value: 5: has a meaning only with spec.shutdownAfterJobFinishes: true"),
    (ray_job("spec.backoffLimit", 1, submissionMode="InteractiveMode"),
     "spec.backoffLimit: Invalid value: 1: a job in InteractiveMode is not tried again: must be 0"),
    (ray_job("spec.submitterPodTemplate", {"spec": {"containers": []}}),
     "spec.submitterPodTemplate.spec.containers: Required value: the first one hands the program over"),
    # batch/v1 Job
    (batch("spec.template.spec.restartPolicy", "Always"),
     'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'),
    (batch("spec.completions", None), "spec.completions: Required value: when completion mode is Indexed"),
    (batch("spec.parallelism", -1), "spec.parallelism: Invalid value: -1: must be greater than or equal to 0"),
    (batch("spec.ttlSecondsAfterFinished", -1), "spec.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0"),
]  # fmt: skip


@pytest.mark.parametrize(("manifest", "message"), MANIFESTS, ids=[f"{m['kind']} {text[:60]}" for m, text in MANIFESTS])
def test_a_wrong_manifest(user: User, manifest: dict[str, Any], message: str) -> None:
    done = user.tries("create", "-f", "-", given=json.dumps(manifest))
    assert (done.returncode, done.stdout) == (1, "")
    # Where two rules are broken, each has a line.
    said = [line for line in done.stderr.splitlines() if not line.startswith("Warning: ")]
    head = f'The {manifest["kind"]} "{manifest["metadata"]["name"]}" is invalid: '
    assert said == [head + message] or (said[0] == head and f"* {message}" in said[1:])


def test_nothing_is_there_of_what_was_refused(cluster: GangwayCluster, user: User) -> None:
    """Asked once for all of the above, and made again here in one place for whoever runs this test alone."""
    for given, _ in SUBMISSIONS[::10]:
        Arena(cluster).tries("submit", *given)
    for manifest, _ in MANIFESTS[::10]:
        user.tries("create", "-f", "-", given=json.dumps(manifest))
    assert everything(user) == {"ServiceAccount/default", "ConfigMap/kube-root-ca.crt", "Service/kubernetes",
                                "Endpoints/kubernetes", "EndpointSlice/kubernetes"}  # fmt: skip
