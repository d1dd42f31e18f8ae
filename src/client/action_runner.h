// ActionRunner: carries actions to the API, with their uid and resourceVersion as preconditions.
//
// Knows nothing of keys or retries (the Controller does). A bounded number of actions is under way; the rest wait in
// order. Owned by the client's loop.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "client/action.h"
#include "client/api_client.h"

namespace gangway::client {

// Answers probes. Called on the client's loop; answers by post, once.
class ProbeRunner {
 public:
  virtual ~ProbeRunner() = default;
  virtual void ask(const Probe& probe, sys::Completion<json::Value> done) = 0;
};

// What became of an action, and what the mirror must show before its effect can be seen.
struct ActionAnswer {
  Result<void> result;
  Resource resource;
  api::ObjectName object;
  std::string uid;
  api::Revision revision = 0;  // 0 when the answer did not say
  api::Revision leaves = 0;    // of a Bind: the effect is shown once the object is past this revision
  bool is_delete = false;
  std::optional<std::pair<std::string, Result<json::Value>>> probe;  // its name and its answer
};

struct ActionRunnerOptions {
  std::string field_manager;
  std::size_t max_under_way = 64;
};

class ActionRunner {
 public:
  using Done = std::function<void(ActionAnswer)>;

  // `probes` may be null for a reconciler that never asks.
  ActionRunner(ApiClient& client, ActionRunnerOptions options, ProbeRunner* probes);
  ActionRunner(const ActionRunner&) = delete;
  ActionRunner& operator=(const ActionRunner&) = delete;

  // Requires: it is no Emit. `done` runs by post, unless the runner is destroyed before.
  void run(Action action, Done done);

  std::size_t under_way() const { return under_way_; }
  std::size_t queued() const { return queue_.size(); }

 private:
  struct Job;

  void start(std::shared_ptr<Job> job);
  void call(std::shared_ptr<Job> job, ApiRequest request, bool is_delete = false);
  void probe(std::shared_ptr<Job> job, const Probe& probe);
  void answered(const std::shared_ptr<Job>& job, Result<api::Version> answer, bool is_delete);
  void check_owner(const std::shared_ptr<Job>& job, Error error);
  void finish(const std::shared_ptr<Job>& job, ActionAnswer answer);

  ApiClient& client_;
  ActionRunnerOptions options_;
  ProbeRunner* probes_;
  std::deque<std::shared_ptr<Job>> queue_;
  std::size_t under_way_ = 0;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

// The request that does `action`. Requires: it is neither a Probe nor an Emit.
ApiRequest to_request(const Action& action, const std::string& field_manager);

}  // namespace gangway::client
