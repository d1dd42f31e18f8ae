// ManagerProcess: scheduling for a cluster that somebody else runs, wired from its parts.
//
//   one loop: HttpClient ── Preflight ─► is it a cluster of ours? ─► Candidate: Lease, Suite
//                 └── HTTPS to the kube-apiserver          /healthz, /readyz, /metrics over HTTP
//
// start() and stop() belong to the main thread; everything else happens on the loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "cluster_address.h"

namespace gangway {

struct ManagerOptions {
  ClusterAddress cluster;
  std::string lease_namespace = "kube-system";
  bool elect = true;  // false: leads at once, whoever holds the Lease
  Duration lease_duration = std::chrono::seconds(15);
  std::string listen;      // "127.0.0.1:8080"; empty: nowhere
  std::string flight_dir;  // where cycles are recorded; empty: nowhere
};

class ManagerProcess {
 public:
  // `on_failure` is called once, from the loop, when it turns out that this can never work.
  static Result<std::unique_ptr<ManagerProcess>> start(ManagerOptions options,
                                                       std::function<void(const Error&)> on_failure);
  ~ManagerProcess();
  ManagerProcess(const ManagerProcess&) = delete;
  ManagerProcess& operator=(const ManagerProcess&) = delete;

  // Hands over to another, and returns when that is written.
  void stop();
  // The port of `listen`; 0 where there is none.
  std::uint16_t port() const;

 private:
  struct Parts;
  explicit ManagerProcess(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace gangway
