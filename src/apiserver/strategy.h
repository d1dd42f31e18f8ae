// Strategies: the small pure part of a kind that no schema can say.
//
// A strategy is a table of plain functions. Each looks at one write and either edits the new object or adds causes;
// none does I/O, reads a clock or keeps state. The same functions answer webhooks when the controllers run on another
// API server.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/convert/lossless.h"
#include "apiserver/auth/user.h"
#include "base/result.h"
#include "base/time.h"
#include "json/value.h"
#include "store/store.h"

namespace gangway::apiserver {

class RbacPolicy;
class Registry;
struct KindInfo;

enum class Operation : std::uint8_t { kCreate, kUpdate, kDelete };

// What a strategy may know besides the object: the committed state, who asks, and when.
struct Facts {
  const store::Root& state;
  const Registry& registry;
  const UserInfo& user;
  WallTime now;
  // Whether `user` may do `verb` to `resource` (of `group`) named `name`.
  std::function<bool(std::string_view verb, std::string_view group, std::string_view resource, std::string_view name)>
      may;
  const RbacPolicy* policy = nullptr;  // for the rules that nobody gives away what they do not have
};

struct Review {
  Operation operation = Operation::kCreate;
  const KindInfo& kind;
  std::string_view subresource;
  const json::Value* old = nullptr;  // null on create
  json::Value& object;
  const Facts& facts;
  std::vector<Cause> causes;
  std::vector<std::string> warnings;

  void refuse(std::string_view reason, std::string field, std::string message) {
    causes.push_back(Cause{std::string(reason), std::move(message), std::move(field)});
  }
};

// When metadata.generation goes up.
enum class GenerationRule : std::uint8_t {
  kNone,  // the kind has no generation
  kSpec,  // with spec
  kSpecOrAnnotations,
  kNonStatus,        // with anything but metadata and status: custom resources
  kContentOrLabels,  // the same, and with labels
  kFixed,            // 1 from its creation on
};

// What of an object's metadata its /status endpoint may not change.
enum class KeptMetadata : std::uint8_t { kNone, kLabels, kOwners, kAll };

struct Strategy {
  // Defaults that depend on other fields; after the schema's own.
  void (*add_defaults)(json::Value& object) = nullptr;
  // Admission: may edit the object, or refuse the request outright (quota, priorities, who may do what).
  Result<void> (*admit)(Review& review) = nullptr;
  // Takes back what this endpoint may not set (status on the main endpoint, spec on /status, …) and sets what the
  // server decides.
  void (*prepare)(Review& review) = nullptr;
  // Adds a cause for each rule that the object breaks, beyond its schema.
  void (*validate)(Review& review) = nullptr;
  // Last, on what is going to be stored: conclusions that others leave to a controller. A dry run does not come to any.
  void (*conclude)(Review& review) = nullptr;

  GenerationRule generation = GenerationRule::kNone;
  bool create_on_update = false;     // a PUT to a name that does not exist creates it
  bool unconditional_update = true;  // an update needs no resourceVersion
  KeptMetadata status_keeps = KeptMetadata::kNone;
  // Seconds between the delete and the object's end; none: it goes at once.
  std::int64_t (*grace_seconds)(const json::Value& object, std::optional<std::int64_t> asked) = nullptr;
  // Called when an object is first marked as being deleted.
  void (*on_delete)(json::Value& object) = nullptr;
  // Not empty: a delete that names no propagation policy leaves the dependents behind, with this Warning.
  std::string_view orphans_by_default = {};
  // The mark is the time alone: no grace period and no new generation.
  bool bare_deletion_mark = false;
  bool returns_deleted = false;  // a completed delete answers with the object, not with a Status
  // Between the form that is served and the one that is stored, for kinds that share their storage with another.
  void (*to_storage)(json::Value& object) = nullptr;
  void (*from_storage)(json::Value& object) = nullptr;
  // The versions of the kind, where they differ in fields; null: an object is the same in all of them. Strategies see
  // objects in the version of the request.
  const api::VersionPair* versions = nullptr;
  // What no two objects may hold at once ("clusterip/10.96.0.5", "nodeport/30001"); committed with the object.
  std::vector<std::string> (*claims)(const json::Value& object) = nullptr;
  // Names: the messages of what is wrong with one, none when it is right.
  std::vector<std::string> (*check_name)(std::string_view name) = nullptr;
};

// The strategy of a built-in kind ("" for the core group); the one without any rules when it has none of its own.
const Strategy& strategy_for(std::string_view group, std::string_view kind);
const Strategy& strategy_without_rules();
const Strategy& custom_resource_strategy();

}  // namespace gangway::apiserver
