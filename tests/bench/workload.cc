#include "workload.h"

#include <fmt/format.h>

namespace gangway::bench {
namespace {

// {0}: index, {1}: app.
constexpr std::string_view kPod = R"({{
"apiVersion":"v1","kind":"Pod",
"metadata":{{"name":"pod-{0:05}","labels":{{
"app":"app-{1}","job-name":"resnet-{1}","replica-type":"worker","replica-index":"{0}","controller-uid":"6f9d1c7a-41f5-4f5c-9f0a-{0:012}","team":"vision"}},
"annotations":{{"example.com/checkpoint":"s3://checkpoints/resnet-{1}/latest","example.com/submitted-by":"user-{1}"}},
"ownerReferences":[{{"apiVersion":"kubeflow.org/v1","kind":"PyTorchJob","name":"resnet-{1}","uid":"6f9d1c7a-41f5-4f5c-9f0a-{0:012}","controller":true,"blockOwnerDeletion":true}}]}},
"spec":{{"restartPolicy":"Never","terminationGracePeriodSeconds":30,
"nodeSelector":{{"accelerator":"a100"}},
"tolerations":[{{"key":"nvidia.com/gpu","operator":"Exists","effect":"NoSchedule"}}],
"volumes":[{{"name":"data","emptyDir":{{}}}},{{"name":"shm","emptyDir":{{"medium":"Memory","sizeLimit":"8Gi"}}}}],
"containers":[{{"name":"trainer","image":"registry.example.com/train/resnet:2.1.0","imagePullPolicy":"IfNotPresent",
"command":["python","-m","train"],"args":["--epochs=90","--batch-size=256","--data=/data","--rank={0}"],
"env":[{{"name":"MASTER_ADDR","value":"resnet-{1}-0"}},{{"name":"MASTER_PORT","value":"29500"}},{{"name":"RANK","value":"{0}"}},
{{"name":"POD_IP","valueFrom":{{"fieldRef":{{"fieldPath":"status.podIP"}}}}}},{{"name":"NCCL_DEBUG","value":"WARN"}}],
"ports":[{{"name":"rendezvous","containerPort":29500}}],
"resources":{{"requests":{{"cpu":"4","memory":"16Gi","nvidia.com/gpu":"1"}},"limits":{{"cpu":"8","memory":"32Gi","nvidia.com/gpu":"1"}}}},
"livenessProbe":{{"httpGet":{{"path":"/healthz","port":8080}},"initialDelaySeconds":30,"periodSeconds":10}},
"volumeMounts":[{{"name":"data","mountPath":"/data"}},{{"name":"shm","mountPath":"/dev/shm"}}]}}]}}}})";

// {0}: third and {1}: fourth part of an address, {2}: turn.
constexpr std::string_view kStatus =
    R"({{"status":{{"phase":"Running","podIP":"10.1.{0}.{1}","podIPs":[{{"ip":"10.1.{0}.{1}"}}],
"startTime":"2024-05-01T10:00:00Z","message":"step {2}",
"conditions":[
{{"type":"Initialized","status":"True","lastProbeTime":null,"lastTransitionTime":"2024-05-01T10:00:01Z"}},
{{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":"2024-05-01T10:00:05Z"}},
{{"type":"ContainersReady","status":"True","lastProbeTime":null,"lastTransitionTime":"2024-05-01T10:00:05Z"}},
{{"type":"PodScheduled","status":"True","lastProbeTime":null,"lastTransitionTime":"2024-05-01T10:00:00Z"}}],
"containerStatuses":[{{"name":"trainer","image":"registry.example.com/train/resnet:2.1.0","imageID":"","ready":true,"started":true,
"restartCount":{2},"state":{{"running":{{"startedAt":"2024-05-01T10:00:04Z"}}}}}}]}}}})";

}  // namespace

std::string pod_name(std::size_t index) {
  return fmt::format("pod-{:05}", index);
}

std::string pod_body(std::size_t index) {
  return fmt::format(fmt::runtime(kPod), index, index % kApps);
}

std::string status_patch(std::size_t index, std::size_t turn) {
  return fmt::format(fmt::runtime(kStatus), index / 250 % 250, index % 250, turn);
}

std::string http_request(std::string_view method, std::string_view path, std::string_view body,
                         std::string_view content_type) {
  auto text = fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench/1\r\nAccept: application/json\r\n",
                          method, path);
  if (!body.empty()) text += fmt::format("Content-Type: {}\r\nContent-Length: {}\r\n", content_type, body.size());
  text += "\r\n";
  text += body;
  return text;
}

}  // namespace gangway::bench
