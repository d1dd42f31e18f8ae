// Training jobs as laws see them, whatever their kind, and whose pods are whose. Shares nothing with those who are
// judged. Pure, but for Families, which remembers what it was shown.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/object.h"
#include "json/value.h"

namespace gangway::sim {

struct SeenJob {
  api::ResourceName resource;
  api::ObjectName name;
  std::string uid;
  std::int64_t attempt = 1;
  bool wants_rest = false;  // its user has suspended it
  // What it says of itself.
  bool is_suspended = false;
  bool has_succeeded = false;
  bool has_failed = false;
  bool says_running = false;
  // Pods that it has while it runs; launchers and submitters that are made later are not among them.
  std::int64_t wanted_pods = 0;
  std::string clean_policy = {};  // what goes when it has ended: None, Running, All; empty: it does not say
  bool is_gang = true;
  bool comes_back = false;  // after a preemption, whole
  bool has_deadline = false;
  bool waits_for_user = false;  // who has to say what runs on it
  // How its program ends, where the job says so and not its pods; nothing when it does not.
  std::optional<std::int64_t> told_end = {};

  bool is_over() const { return has_succeeded || has_failed; }
  std::string text() const;
};

// Nothing for what is no training job, or one that another object has made.
std::optional<SeenJob> read_job(const api::ResourceName& resource, const api::Version& version);
// Of all of these resources are training jobs.
const std::vector<api::ResourceName>& job_resources();

// Who belongs to whom by controllers, as far as it was shown; what has gone is remembered.
class Families {
 public:
  void see(const api::Header& header);
  // The uid of the one who has no controller.
  std::string top_of(const std::string& uid) const;

 private:
  std::map<std::string, std::string> controllers_;  // by uid
};

// "gangway.dev/attempt" of a pod; 1 when it says nothing.
std::int64_t attempt_of(const json::Value& pod);
// The exit code that the program in it ends with, as it (or its template) says; nothing when it runs until it is
// stopped.
std::optional<std::int64_t> told_end_of(const json::Value& pod);

}  // namespace gangway::sim
