"""Manifests of Kueue's kinds that are wrong, and what kubectl says of them, word for word."""

from __future__ import annotations


def a_queue(spec: str, version: str = "v1beta2") -> str:
    return f"apiVersion: kueue.x-k8s.io/{version}\nkind: ClusterQueue\nmetadata: {{name: wrong}}\nspec: {spec}\n"


def of_kind(kind: str, body: str, version: str = "v1beta2") -> str:
    return f"apiVersion: kueue.x-k8s.io/{version}\nkind: {kind}\nmetadata: {{name: wrong}}\n{body}\n"


def a_quota(resources: str, covered: str = "[cpu]") -> str:
    return f"[{{coveredResources: {covered}, flavors: [{{name: f, resources: [{resources}]}}]}}]"


def invalid(kind: str, *problems: str) -> str:
    if len(problems) == 1:
        return f'The {kind} "wrong" is invalid: {problems[0]}'
    return f'The {kind} "wrong" is invalid: \n' + "\n".join(f"* {problem}" for problem in problems)


CONTAINERS = "template: {spec: {containers: [{name: c, image: i}]}}"
NOT_A_NAME = r"in body should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'"
FIRST = "spec.resourceGroups[0].flavors[0].resources[0]"

MANIFESTS: dict[str, tuple[str, str]] = {
    "a field of the other version": (
        a_queue("{cohort: c}"),
        'Error from server (BadRequest): error when creating "STDIN": ClusterQueue in version "v1beta2" cannot be '
        'handled as a ClusterQueue: strict decoding error: unknown field "spec.cohort"',
    ),
    "and the other way round": (
        a_queue("{cohortName: c}", "v1beta1"),
        'Error from server (BadRequest): error when creating "STDIN": ClusterQueue in version "v1beta1" cannot be '
        'handled as a ClusterQueue: strict decoding error: unknown field "spec.cohortName"',
    ),
    "a strategy that there is not": (
        a_queue("{queueingStrategy: LIFO}"),
        invalid("ClusterQueue",
                'spec.queueingStrategy: Unsupported value: "LIFO": supported values: "StrictFIFO", "BestEffortFIFO"'),
    ),
    "a word of the older version": (
        a_queue("{flavorFungibility: {whenCanBorrow: Borrow}}"),
        invalid("ClusterQueue", 'spec.flavorFungibility.whenCanBorrow: Unsupported value: "Borrow": supported values: '
                '"MayStopSearch", "TryNextFlavor"'),
    ),
    "a cohort that is no name": (
        a_queue("{cohortName: Research Team}"),
        invalid("ClusterQueue",
                f'spec.cohortName: Invalid value: "Research Team": spec.cohortName {NOT_A_NAME}'),
    ),
    "the same in the older version": (
        a_queue("{cohort: Research Team}", "v1beta1"),
        invalid("ClusterQueue", f'spec.cohort: Invalid value: "Research Team": spec.cohort {NOT_A_NAME}'),
    ),
    "limits outside a cohort": (
        a_queue(f"{{resourceGroups: {a_quota('{name: cpu, nominalQuota: 1, borrowingLimit: 1}')}}}"),
        invalid("ClusterQueue", f"{FIRST}.borrowingLimit: Forbidden: nothing is borrowed or lent outside a cohort"),
    ),
    "more lent than there is": (
        a_queue("{cohort: c, resourceGroups: " + a_quota("{name: cpu, nominalQuota: 1, lendingLimit: 1500m}") + "}",
                "v1beta1"),
        invalid("ClusterQueue",
                f'{FIRST}.lendingLimit: Invalid value: "1500m": must not be more than nominalQuota (1)'),
    ),
    "less than nothing": (
        a_queue(f"{{resourceGroups: {a_quota('{name: cpu, nominalQuota: -1}')}}}"),
        invalid("ClusterQueue", f"{FIRST}.nominalQuota: Invalid value: -1: must be greater than or equal to 0"),
    ),
    "resources in another order": (
        a_queue("{resourceGroups: " + a_quota("{name: memory, nominalQuota: 1}, {name: cpu, nominalQuota: 1}",
                                              "[cpu, memory]") + "}"),
        invalid("ClusterQueue",
                f'{FIRST}.name: Invalid value: "memory": must be cpu: resources are in the order of coveredResources',
                'spec.resourceGroups[0].flavors[0].resources[1].name: Invalid value: "cpu": must be memory: resources '
                "are in the order of coveredResources"),
    ),
    "a resource without quota": (
        a_queue(f"{{resourceGroups: {a_quota('{name: cpu, nominalQuota: 1}', '[cpu, memory]')}}}"),
        invalid("ClusterQueue", "spec.resourceGroups[0].flavors[0].resources: Invalid value: 1: must have as many "
                "resources as coveredResources (2)"),
    ),
    "no resource at all": (
        a_queue(f"{{resourceGroups: {a_quota('{name: cpu, nominalQuota: 1}', '[]')}}}"),
        invalid("ClusterQueue",
                'spec.resourceGroups[0].coveredResources: Invalid value: 0: spec.resourceGroups[0].coveredResources in '
                'body should have at least 1 items',
                'spec.resourceGroups[0].flavors[0].resources: Invalid value: 1: must have as many resources as '
                'coveredResources (0)'),
    ),
    "a preference without a choice": (
        a_queue("{flavorFungibility: {preference: PreemptionOverBorrowing}}"),
        invalid("ClusterQueue", "spec.flavorFungibility.preference: Forbidden: has a meaning only when whenCanBorrow "
                "and whenCanPreempt are both TryNextFlavor"),
    ),
    "borrowing by force without reclaiming": (
        a_queue("{preemption: {borrowWithinCohort: {policy: LowerPriority}}}"),
        invalid("ClusterQueue", 'spec.preemption.borrowWithinCohort.policy: Invalid value: "LowerPriority": must be '
                "Never when reclaimWithinCohort is Never"),
    ),
    "checks said twice": (
        a_queue("{admissionChecks: [a], admissionChecksStrategy: {admissionChecks: [{name: a}]}}", "v1beta1"),
        invalid("ClusterQueue", "spec.admissionChecks: Forbidden: admissionChecksStrategy says it already"),
    ),
    "a weight below nothing": (
        a_queue("{fairSharing: {weight: -1}}"),
        invalid("ClusterQueue", "spec.fairSharing.weight: Invalid value: -1: must be greater than or equal to 0"),
    ),
    "a cohort that lends without a parent": (
        of_kind("Cohort", "spec: {resourceGroups: " + a_quota("{name: cpu, nominalQuota: 1, lendingLimit: 1}") + "}",
                "v1beta1"),
        invalid("Cohort", f"{FIRST}.lendingLimit: Forbidden: nothing is borrowed or lent outside a cohort"),
    ),
    "a flavor with a topology and no label": (
        of_kind("ResourceFlavor", "spec: {topologyName: t}"),
        invalid("ResourceFlavor", "spec.nodeLabels: Required value: a flavor with a topology has at least one label"),
    ),
    "a taint without an effect": (
        of_kind("ResourceFlavor", "spec: {nodeTaints: [{key: spot}]}", "v1beta1"),
        invalid("ResourceFlavor", "spec.nodeTaints[0].effect: Required value"),
    ),
    "a class without a value": (
        of_kind("WorkloadPriorityClass", "description: nothing"),
        invalid("WorkloadPriorityClass", "value: Required value"),
    ),
    "a check without a controller": (
        of_kind("AdmissionCheck", "spec: {}"),
        invalid("AdmissionCheck", "spec.controllerName: Required value"),
    ),
    "hosts above racks": (
        of_kind("Topology", "spec: {levels: [{nodeLabel: kubernetes.io/hostname}, {nodeLabel: rack}]}"),
        invalid("Topology", 'spec.levels[0].nodeLabel: Invalid value: "kubernetes.io/hostname": only the lowest level '
                "can be a host"),
    ),
    "a level twice": (
        of_kind("Topology", "spec: {levels: [{nodeLabel: rack}, {nodeLabel: rack}]}", "v1beta1"),
        invalid("Topology", 'spec.levels[1].nodeLabel: Duplicate value: "rack"'),
    ),
    "two sets that may shrink": (
        of_kind("Workload", f"spec: {{podSets: [{{name: a, minCount: 1, {CONTAINERS}}}, "
                            f"{{name: b, minCount: 1, {CONTAINERS}}}]}}"),
        invalid("Workload", "spec.podSets: Invalid value: 2: at most one of them can have a minCount"),
    ),
    "two sets of one name": (
        of_kind("Workload", f"spec: {{podSets: [{{{CONTAINERS}}}, {{{CONTAINERS}}}]}}"),
        invalid("Workload", 'spec.podSets[1]: Duplicate value: map[string]interface {}{"name":"main"}'),
    ),
    "no pods": (
        of_kind("Workload", "spec: {podSets: []}"),
        invalid("Workload", "spec.podSets: Invalid value: 0: spec.podSets in body should have at least 1 items"),
    ),
    "a class without its value": (
        of_kind("Workload", "spec: {priorityClassName: high, priorityClassSource: "
                            f"kueue.x-k8s.io/workloadpriorityclass, podSets: [{{{CONTAINERS}}}]}}", "v1beta1"),
        invalid("Workload", "spec.priority: Required value: a workload with a priority class has the value of that"),
    ),
    "a class of the wrong group": (
        of_kind("Workload", "spec: {priority: 1, priorityClassRef: {group: kueue.x-k8s.io, kind: PriorityClass, "
                            f"name: high}}, podSets: [{{{CONTAINERS}}}]}}"),
        invalid("Workload", 'spec.priorityClassRef.kind: Invalid value: "PriorityClass": must be WorkloadPriorityClass '
                "in the group kueue.x-k8s.io"),
    ),
}  # fmt: skip

# file, what is patched, the patch, what kubectl says
CHANGES: dict[str, tuple[str, str, str, str]] = {
    "another ClusterQueue": (
        "v1beta1/local-queue", "lq a-queue", '{"spec":{"clusterQueue":"other"}}',
        'The LocalQueue "a-queue" is invalid: spec.clusterQueue: Invalid value: "other": field is immutable',
    ),
    "another controller": (
        "v1beta1/admission-check", "ac a-check", '{"spec":{"controllerName":"other"}}',
        'The AdmissionCheck "a-check" is invalid: spec.controllerName: Invalid value: "other": field is immutable',
    ),
    "another topology": (
        "v1beta2/resource-flavor-topology", "resourceflavors.v1beta1.kueue.x-k8s.io b-topology",
        '{"spec":{"topologyName":"other"}}',
        'The ResourceFlavor "b-topology" is invalid: spec.topologyName: Invalid value: "other": field is immutable',
    ),
    "levels without hosts": (
        "v1beta1/topology", "topo a-topology", '{"spec":{"levels":[{"nodeLabel":"rack"}]}}',
        'The Topology "a-topology" is invalid: spec.levels: Forbidden: can be changed only while '
        "kubernetes.io/hostname is the lowest level before and after",
    ),
}  # fmt: skip
