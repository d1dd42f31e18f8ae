// Sightings: the cluster as placement laws see it: pods, groups, nodes and grants (Allotments), read from what the
// server publishes. Knows nothing of planners or schedulers. Owned by the simulation's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "sim/reading.h"
#include "store/store.h"

namespace gangway::sim {

// What a group, or a pod that belongs to none, says about its own preemption.
struct Wishes {
  Duration min_runtime = {};
  std::optional<std::int64_t> max_preemptions = {};
};

struct SeenPod {
  api::ObjectName name;
  std::string uid;
  std::string gang = {};     // "group ns/name", or "pod ns/name"
  std::string node = {};     // empty: it is not bound
  std::int64_t minimum = 0;  // of its gang, where the pod itself says so
  std::int64_t priority = 0;
  bool has_ended = false;
  bool is_terminating = false;
  bool is_gated = false;
  bool is_marked = false;  // as a victim, by the scheduler
  std::string late = {};   // of whom it is one: launcher, submitter; empty: it was there before its gang ran
  Amounts requests = {};
  WallTime created = {};
  std::optional<WallTime> bound = {};
  std::optional<WallTime> started = {};
  Wishes wishes = {};

  bool is_group() const { return gang.starts_with("group "); }
  bool holds_room() const { return !node.empty() && !has_ended; }
  bool runs() const { return holds_room() && !is_terminating; }
  bool waits() const { return node.empty() && !has_ended && !is_terminating && !is_gated; }
};

struct SeenGroup {
  // Members that are made once the others run.
  struct Late {
    std::string name;
    std::int64_t count = 1;
    Amounts requests = {};
  };
  std::int64_t minimum = 1;
  std::int64_t least_minimum = 1;        // what it was before its last change, or is, whichever is less
  std::optional<MonoTime> changed = {};  // when that was
  std::vector<Late> late = {};
  bool has_min_resources = false;
  WallTime created = {};
  Wishes wishes = {};
};

struct SeenNode {
  Amounts allocatable = {};
  bool is_open = false;                    // ready, and nothing keeps pods away
  std::optional<MonoTime> closed_at = {};  // when it last ceased to be
};

// One Allotment.
struct SeenGrant {
  struct Place {
    std::string uid;
    std::string node;
    auto operator<=>(const Place&) const = default;
  };
  // Room for a member that does not exist yet.
  struct Hold {
    std::string node;
    std::string name;  // launcher, submitter
    Amounts requests = {};
  };
  struct Record {
    WallTime at;
    std::string grant;  // "ns/name generation"
  };
  api::ObjectName name;
  std::string gang = {};
  std::int64_t generation = 0;
  bool is_open = true;        // neither done nor taken back
  bool is_withdrawn = false;  // taken back
  std::vector<Place> places = {};
  std::vector<Hold> holds = {};
  std::vector<std::string> victims = {};  // uids
  WallTime granted_at = {};
  std::vector<Record> records = {};           // when its gang was preempted
  std::optional<std::int64_t> priority = {};  // the highest of those it places, as they were when it was written

  std::string key() const;
};

class Sightings {
 public:
  explicit Sightings(std::function<MonoTime()> now) : now_(std::move(now)) {}

  // What the change is about, before and after it; null for what is not there.
  struct Seen {
    std::optional<SeenPod> pod_before, pod;
    std::optional<SeenGrant> grant_before, grant;
    std::optional<std::string> node;  // one that has changed
  };
  Seen see(const api::ResourceName& resource, const store::Change& change);

  MonoTime now() const { return now_(); }
  const std::map<std::string, SeenPod>& pods() const { return pods_; }  // by uid
  const std::map<api::ObjectName, SeenGrant>& grants() const { return grants_; }
  const std::map<std::string, SeenNode>& nodes() const { return nodes_; }
  const SeenPod* pod(const std::string& uid) const;
  const SeenNode* node(const std::string& name) const;
  const SeenGrant* grant_of(const std::string& gang) const;
  const SeenGroup* group(const std::string& gang) const;
  // How many members the gang needs, as its group says, or its pods; 0 when nobody does.
  std::int64_t minimum_of(const std::string& gang) const;
  // The same for whoever may not have heard of a change of the last minutes.
  std::int64_t least_minimum_of(const std::string& gang, Duration lag) const;
  Wishes wishes_of(const SeenPod& pod) const;
  // Whether the one that the room is held for has come and taken it, or has ended since, or will never be made: its
  // group is gone, or does not announce it any more.
  bool is_taken(const SeenGrant& grant, const SeenGrant::Hold& hold) const;

  // Whoever is judged may not have heard of the latest: what was ever in force excuses it.
  Duration least_runtime_limit() const { return least_runtime_limit_; }
  std::int64_t most_preemptions_limit() const { return most_preemptions_limit_; }
  std::int64_t least_top_priority() const { return least_top_priority_; }

 private:
  void see_group(const std::string& gang, SeenGroup group);
  void see_node(const std::string& name, const api::Version& version, bool is_gone);
  void see_limits(const api::Version& configuration);
  void note_top();

  std::function<MonoTime()> now_;
  std::map<std::string, SeenPod> pods_;
  std::map<api::ObjectName, SeenGrant> grants_;
  std::map<std::string, SeenGroup> groups_;  // by gang
  std::map<std::string, SeenNode> nodes_;
  std::map<std::string, std::int64_t> classes_;
  std::string top_class_;
  Duration least_runtime_limit_ = std::chrono::minutes(10);
  std::int64_t most_preemptions_limit_ = 5;
  std::int64_t least_top_priority_ = std::int64_t{1} << 40;
};

}  // namespace gangway::sim
