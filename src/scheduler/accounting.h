// Accounts: what jobs have had of the cluster's GPUs, waited for and lost. Pure.
//
//   pod exists ─────────────► it says itself when it was made, bound and ended: nothing is written
//   pod is told to end ─────► Account::ending: known to the account before it is gone
//   pod is gone ────────────► Account::used and waited, and the uid in Account::settled, in one write
//
// A pod is counted once: it leaves `ending` in the write that counts it, and one that was only seen to be gone is not
// counted again while `settled` names it. What runs on is computed when somebody asks (usage.h), so nothing is written
// while nothing changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/object.h"
#include "base/time.h"
#include "client/api_client.h"
#include "client/object_cache.h"
#include "json/value.h"

namespace gangway::scheduler {

inline const client::Resource kUsageRecords{"gangway.dev", "v1alpha1", "usagerecords"};

// Whose account it is. All that usage can be shown by is part of it.
struct JobRef {
  std::string ns;
  std::string kind;  // PodGroup, the kind of the pods' controller, or Pod
  std::string name;
  std::string user;  // empty: nobody says
  std::string priority_class;
  auto operator<=>(const JobRef&) const = default;
};

// What a pod says about its time with GPUs.
struct PodUsage {
  JobRef job;  // the user as the pod says, whether that can be believed or not
  std::string uid;
  std::int64_t gpus = 0;
  WallTime created = {};
  std::optional<WallTime> bound = {};
  std::optional<WallTime> ended = {};            // all of its containers
  std::optional<WallTime> ends = {};             // told to end: gone by then
  std::optional<WallTime> preempted = {};        // told to go for somebody else
  std::optional<WallTime> last_checkpoint = {};  // as the pod itself says
};
PodUsage read_usage(const api::Version& pod);

struct Span {
  WallTime from = {};
  WallTime to = {};
  std::int64_t gpu_seconds = 0;
  bool operator==(const Span&) const = default;
};

struct PreemptionEntry {
  WallTime at = {};
  std::int64_t count = 1;
  std::int64_t gpu_seconds = 0;
  std::string by;     // "ns/name"; empty where the entry stands for several
  std::string grant;  // likewise
  std::string how;
  bool operator==(const PreemptionEntry&) const = default;
};

struct EndingPod {
  std::string uid;
  std::int64_t gpus = 0;
  WallTime created = {};
  std::optional<WallTime> bound = {};
  std::optional<WallTime> ends = {};
  bool operator==(const EndingPod&) const = default;
};

struct Account {
  JobRef job;
  std::vector<EndingPod> ending = {};
  std::vector<std::string> settled = {};
  std::vector<Span> used = {};
  std::vector<Span> waited = {};
  std::vector<PreemptionEntry> preemptions = {};
  std::int64_t requeues = 0;
  std::optional<WallTime> last_at = {};  // the latest time that it tells of
  bool operator==(const Account&) const = default;

  static constexpr std::size_t kSpans = 48;
  static constexpr std::size_t kPreemptions = 32;
  static constexpr std::size_t kSettledAtOnce = 256;
};
Account read_account(const api::Version& record);
json::Value record_of(const Account& account, const std::string& name);
// Deterministic: one for all pods that say the same of their job.
std::string record_name(const JobRef& job);

// Who took the room of a pod, as the Allotment of that one says.
struct Taken {
  std::string uid;  // of the pod
  std::string by;   // "ns/name"
  std::string grant;
  std::string how;
};

struct Gone {
  PodUsage pod;
  WallTime seen = {};
};

// What is known of a job's pods at one moment.
struct Sighting {
  std::vector<PodUsage> pods = {};  // that exist
  std::vector<Gone> gone = {};      // that were seen to go
  std::vector<Taken> taken = {};
  std::optional<WallTime> last_checkpoint = {};
  WallTime now = {};
};

// The account as it should be written. The same account when there is nothing new; doing it again changes nothing.
Account next_account(const Account& before, const Sighting& seen);

std::int64_t gpu_seconds(std::int64_t gpus, WallTime from, WallTime to);
std::int64_t total(const std::vector<Span>& spans);
// The part of it after `since`; a span that `since` cuts counts in proportion.
std::int64_t total_since(const std::vector<Span>& spans, WallTime since);
std::int64_t total_lost(const Account& account);

// The account as an Allotment's status shows it: of all accounts of a gang, and its pods that exist. Changes only when
// the gang has started, lost something or finished; what runs on is not in it. Null: to be taken away.
json::Object allotment_account(const std::vector<Account>& accounts, const std::vector<PodUsage>& pods);

// The job as people know it: the Deployment rather than its ReplicaSet.
JobRef shown_job(const JobRef& job, const client::ObjectCache& replica_sets);

}  // namespace gangway::scheduler
