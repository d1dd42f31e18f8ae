// Documents: what the server says about itself. Health, version, metrics, discovery, OpenAPI.
//
// Discovery and OpenAPI documents are made once for each set of kinds and kept. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/rest/call.h"
#include "sys/completion.h"
#include "sys/http.h"
#include "sys/metrics.h"

namespace gangway::apiserver {

struct ServerVersion {
  std::string git_version;  // "v1.33.13+gangway.0.1.0"
  std::string git_commit;
  std::string build_date;
};

// Asked for by /readyz; an empty string is healthy, else it says why not. Called from any thread.
using HealthCheck = std::function<std::string()>;

// What is answered where no kind, no group and no document is.
Answer page_not_found();

class Documents {
 public:
  Documents(ServerVersion version, sys::Metrics& metrics);

  // Where clients in the same network find the server, as /api tells it.
  void set_address(std::string address);
  // What `gangway status` shows: a JSON object, made when it is asked for.
  void set_status_source(std::function<json::Value()> source);

  // Copies the store to a file of this machine; answers from any thread.
  using Backup = std::function<void(std::string path, sys::Completion<void> done)>;
  void set_backup(Backup backup);

  void serve(const CallPtr& call, const Done& done);
  void add_health_check(std::string name, HealthCheck check);

 private:
  Result<Answer> document(const Call& call);
  void make_backup(const CallPtr& call, const Done& done);
  Result<Answer> status();
  Result<Answer> health(const Call& call, std::string_view endpoint);
  Result<Answer> discovery(const Call& call);
  Result<Answer> openapi(const Call& call);
  Result<sys::Buffer> openapi_of(const Registry& registry, const std::string& group, const std::string& version);
  Result<sys::Buffer> cached(const Registry& registry, const std::string& key,
                             const std::function<Result<std::string>()>& make);

  const ServerVersion version_;
  sys::Metrics& metrics_;
  std::mutex mutex_;
  std::string address_;
  std::function<json::Value()> status_source_;
  Backup backup_;
  std::vector<std::pair<std::string, HealthCheck>> checks_;
  std::uint64_t cache_generation_ = 0;
  std::map<std::string, sys::Buffer> cache_;
};

}  // namespace gangway::apiserver
