// EmbeddedCluster: a whole cluster in this process, wired from its parts.
//
//   net loops ── HTTPS ──► ApiServer ──► API loop ── commit ──► SqliteStore ── disk thread
//                             ▲
//   control loop ── DirectClient: controllers
//
// start() and stop() belong to the main thread; everything else happens on the loops.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/server_process.h"
#include "cli/up_options.h"

namespace gangway {

class EmbeddedCluster {
 public:
  // Returns when the API answers and every node is Ready.
  static Result<std::unique_ptr<EmbeddedCluster>> start(const cli::UpOptions& options);
  ~EmbeddedCluster();

  const std::string& url() const;
  // Ends requests, then the controllers, then the store: what was acknowledged is on disk afterwards.
  void stop(cli::PodsThen pods);

 private:
  struct Parts;
  explicit EmbeddedCluster(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace gangway
