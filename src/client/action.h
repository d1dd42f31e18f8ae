// Action: one effect that a reconciler asks for. A value; doing it is the ActionRunner's business.
//
// Every action on an existing object names the uid and the revision it was decided on, so that a decision made on an
// old view fails instead of undoing what happened since.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "client/api_client.h"
#include "json/value.h"

namespace gangway::client {

struct Target {
  Resource resource;
  api::ObjectName object;
  std::string uid;             // empty: whatever bears the name
  api::Revision revision = 0;  // 0: whatever its state is
};

// The object as it is in the view.
Target target_of(const Resource& resource, const api::Version& version);
// The same without the revision: for writes that are right whatever else has changed (a heartbeat, a deletion).
Target target_by_uid(const Resource& resource, const api::Version& version);

enum class EventType : std::uint8_t { kNormal, kWarning };

// The object that an Event is about.
struct EventSubject {
  std::string api_version;
  std::string kind;
  api::ObjectName object;
  std::string uid;
  api::Revision revision = 0;
  std::string field_path = {};  // "spec.containers{main}" where it is about a part
};

// What users read under Events in `kubectl describe`. Best effort: equal events are counted in one object, there is a
// budget for each subject, and a failure neither holds the key nor puts it under back-off (see EventWriter).
struct Emit {
  EventSubject about;
  EventType type = EventType::kNormal;
  std::string reason;
  std::string message;
};

// What is told about an effect once its answer is in.
struct Announcement {
  std::optional<Emit> done = {};
  std::optional<Emit> failed = {};  // its message is followed by that of the error
};

EventSubject subject_of(const Resource& resource, std::string kind, const api::Version& version);

// The name in `body` is an idempotency key: an object that exists under it counts as created when one of its owners is
// `owner_uid`, or always when `owner_uid` is empty (for names that mean the same thing whoever made them).
struct Create {
  Resource resource;
  std::string ns;
  json::Value body;
  std::string owner_uid = {};
  Announcement announce = {};
};

struct Update {
  Target target;
  json::Value body;              // the whole object; the runner sets its uid and resourceVersion
  std::string subresource = {};  // "", "status", "finalize", …
  Announcement announce = {};
};

struct Patch {
  Target target;
  json::Value body;
  PatchType type = PatchType::kMerge;
  std::string subresource = {};
  Announcement announce = {};
};

// A merge patch of the status subresource; `body` holds {"status": …}.
struct PatchStatus {
  Target target;
  json::Value body;
  Announcement announce = {};
};

enum class Propagation : std::uint8_t { kDefault, kBackground, kForeground, kOrphan };

struct Delete {
  Target target;
  Propagation propagation = Propagation::kDefault;
  std::optional<std::int64_t> grace_seconds = {};
  Announcement announce = {};
};

// Puts a pod on a node. Unlike other answers, a server's does not say at which revision that happened: the target's
// revision must be set, and the mirror shows the binding once it has left that revision behind.
struct Bind {
  Target target;
  std::string node;
  Announcement announce = {};
};

// A question about what the mirror cannot know. The answer is in the next view of the same key, and only there.
struct Probe {
  std::string name;  // unique among the probes of one look
  json::Value question;
};

using Action = std::variant<Create, Update, Patch, PatchStatus, Delete, Bind, Probe, Emit>;

// "create", "delete", …: for metrics and logs.
std::string_view verb_of(const Action& action);
// Takes out what is to be told about the effect; nothing for a probe or an event.
Announcement take_announcement(Action& action);

// "<base>-<hash>": the name of the object that plays `role` number `index` for its owner in its `attempt`. The same
// arguments give the same name in every process and every version; `base` is shortened to fit `max_length`.
std::string generated_name(std::string_view base, std::string_view owner_uid, std::string_view role,
                           std::uint64_t index, std::uint64_t attempt, std::size_t max_length = 63);
// Of the Allotment that grants to a gang: one each, for a PodGroup or a pod that belongs to none.
std::string allotment_name(bool is_group, std::string_view gang);

}  // namespace gangway::client
