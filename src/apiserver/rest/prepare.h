// Preparing a write: everything between a client's wish and the bytes to commit, as a pure step over one state.
//
// The outcome depends only on the call, the state and the random uid; when the commit finds that the state has moved
// on, the step is simply done again.
#pragma once

#include <functional>
#include <optional>

#include "apiserver/auth/rbac.h"
#include "apiserver/rest/call.h"
#include "apiserver/rest/options.h"
#include "apiserver/strategy.h"
#include "store/store.h"
#include "sys/entropy.h"

namespace gangway::apiserver {

// What a prepared write would do: `writes`, or nothing because it would change nothing (`unchanged`) or is a dry run
// (`preview`).
struct Prepared {
  std::vector<store::Write> writes;  // one transaction; the first is the object that is answered
  api::Version unchanged;            // the write would change nothing: this is what is there
  api::Version preview;              // dry run
  api::Version shown;                // not empty: the answer, in place of what the first write makes
  bool created = false;
  bool gone = false;  // the object is no more after this write
};

// The new object, given the old one in the form of the call's version. An apply also decides the managed fields.
struct Edited {
  json::Value object;
  bool managed_fields_done = false;
};
using Edit = std::function<Result<Edited>(const json::Value& old)>;

struct PrepareEnv {
  sys::Entropy& entropy;
  std::function<std::shared_ptr<const RbacPolicy>()> policy;
};

Result<Prepared> prepare_create(Call& call, const WriteOptions& options, json::Value object, bool managed_fields_done,
                                const store::Root& state, const PrepareEnv& env);

Result<Prepared> prepare_update(Call& call, const WriteOptions& options, const Edit& edit, const store::Root& state,
                                const PrepareEnv& env);

// `last_words` may still edit an object that is to go; watchers of one that takes its time see it.
Result<Prepared> prepare_remove(const Call& call, const DeleteOptions& options, const api::ObjectName& name,
                                const store::Root& state, const PrepareEnv& env,
                                const std::function<void(json::Value& object)>& last_words = {});

// What a node may not write although it may write such objects. `old` is null on create, `now` on delete; for a request
// of its own kind (a token, an eviction) `now` is that. Free for all who are not nodes.
Result<void> check_node(const Call& call, const store::Root& state, const json::Value* old, const json::Value* now);

// What strategies may know about a write. `policy` must outlive it.
Facts facts_for(const Call& call, const store::Root& state, const RbacPolicy& policy);

// Where the claims of objects (addresses, ports) are kept: one entry a claim, so that the store itself refuses a
// second.
inline constexpr std::string_view kClaims = "claims.gangway.dev/internal";
// Adds the writes that turn the claims of `old` into those of `object`; null: there is no such object.
void add_claims(const KindInfo& kind, const json::Value* old, const json::Value* object,
                std::vector<store::Write>& writes);

// A stored version as a tree, in the form of the call's version, with apiVersion and kind.
Result<json::Value> open_version(const Call& call, const api::Version& version, boost::json::storage_ptr storage = {});
// The other direction: what is to be stored.
api::Draft close_object(const Call& call, json::Value object);
// The same for an object in stored form of any kind.
api::Draft draft_of(const KindInfo& kind, const json::Value& object);

}  // namespace gangway::apiserver
