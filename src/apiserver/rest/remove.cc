// Resources: delete and deletecollection.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "apiserver/rest/metadata_rules.h"
#include "apiserver/rest/resources.h"
#include "apiserver/status.h"
#include "json/arena.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kForeground = "foregroundDeletion";

Error not_the_record(const Call& call, const api::Header& header, std::string_view what, std::string_view wanted,
                     std::string_view found) {
  auto end =
      what == "UID" ? "The object might have been deleted and then recreated" : "The object might have been modified";
  auto error = conflict(*call.kind, header.name.name, "");
  error.message = fmt::format(
      "Operation cannot be fulfilled on {} \"{}\": the {} in the precondition ({}) does not match the {} in record "
      "({}). {}",
      call.kind->kind, header.name.name, what, wanted, what, found, end);
  error.subject.kind = call.kind->kind;
  return error;
}

Result<void> check_preconditions(const Call& call, const DeleteOptions& options, const api::Header& header) {
  if (!options.uid.empty() && options.uid != header.uid) {
    return not_the_record(call, header, "UID", options.uid, header.uid);
  }
  auto revision = std::to_string(header.revision);
  if (!options.revision.empty() && options.revision != revision) {
    return not_the_record(call, header, "ResourceVersion", options.revision, revision);
  }
  return {};
}

bool names_policy(const json::Value& finalizer) {
  if (!finalizer.is_string()) return false;
  std::string_view name = finalizer.get_string();
  return name == kOrphan || name == kForeground;
}

// The garbage collector learns from a finalizer what should become of the dependents.
void set_propagation_finalizer(json::Value& object, Propagation propagation) {
  if (propagation == Propagation::kDefault) return;
  auto& metadata = json::object_at(object, {"metadata"});
  json::Array kept;
  if (const auto* finalizers = metadata.if_contains("finalizers"); finalizers && finalizers->is_array()) {
    for (const auto& finalizer : finalizers->get_array()) {
      if (!names_policy(finalizer)) kept.push_back(finalizer);
    }
  }
  if (propagation == Propagation::kOrphan) kept.emplace_back(kOrphan);
  if (propagation == Propagation::kForeground) kept.emplace_back(kForeground);
  if (kept.empty()) {
    metadata.erase("finalizers");
  } else {
    metadata["finalizers"] = std::move(kept);
  }
}

bool says_propagation(const json::Value& object) {
  const auto* finalizers = json::find(object, {"metadata", "finalizers"});
  if (!finalizers || !finalizers->is_array()) return false;
  return std::any_of(finalizers->get_array().begin(), finalizers->get_array().end(), names_policy);
}

// What is asked for, or what the object has said since an earlier delete, or what its kind does.
Propagation propagation_of(const DeleteOptions& options, const Strategy& strategy, const json::Value& object) {
  if (options.propagation != Propagation::kDefault || strategy.orphans_by_default.empty()) return options.propagation;
  return says_propagation(object) ? Propagation::kDefault : Propagation::kOrphan;
}

void warn_of_orphans(Call& call, const DeleteOptions& options) {
  auto warning = call.kind->strategy->orphans_by_default;
  if (options.propagation == Propagation::kDefault && !warning.empty()) call.warnings.emplace_back(warning);
}

bool stays(const json::Value& object, std::int64_t grace) {
  const auto* own = json::find(object, {"spec", "finalizers"});  // namespaces have their own list
  return grace > 0 || has_finalizers(object) || (own && own->is_array() && !own->get_array().empty());
}

// Marks the object as being deleted. False when it already was, and would not end any sooner.
bool mark_deleted(const Call& call, json::Value& object, std::int64_t grace) {
  auto& metadata = json::object_at(object, {"metadata"});
  bool first = !metadata.contains("deletionTimestamp");
  if (const auto* before = metadata.if_contains("deletionGracePeriodSeconds");
      before && metadata.contains("deletionTimestamp")) {
    if (before->is_int64() && before->get_int64() <= grace) return false;
  }
  if (call.kind->strategy->bare_deletion_mark) {
    if (!first) return false;
    metadata["deletionTimestamp"] = to_rfc3339(call.now);
    if (call.kind->strategy->on_delete) call.kind->strategy->on_delete(object);
    return true;
  }
  metadata["deletionTimestamp"] = to_rfc3339(call.now + std::chrono::seconds(grace));
  metadata["deletionGracePeriodSeconds"] = grace;
  if (auto* generation = metadata.if_contains("generation"); first && generation && generation->is_int64()) {
    *generation = generation->get_int64() + 1;
  }
  if (call.kind->strategy->on_delete) call.kind->strategy->on_delete(object);
  return true;
}

}  // namespace

Result<Prepared> prepare_remove(const Call& call, const DeleteOptions& options, const api::ObjectName& name,
                                const store::Root& state, const PrepareEnv& env,
                                const std::function<void(json::Value& object)>& last_words) {
  auto current = state.get({call.kind->storage_name, name});
  if (!current) return not_found(*call.kind, name.name);
  GW_CHECKED(check_preconditions(call, options, *current.header));
  json::Arena arena;
  GW_TRY(auto object, open_version(call, current, arena.storage()));
  GW_CHECKED(check_node(call, state, &object, nullptr));
  auto before = object;
  if (call.kind->strategy->admit) {
    auto policy = env.policy();
    auto facts = facts_for(call, state, *policy);
    Review review{Operation::kDelete, *call.kind, call.info.subresource, &before, object, facts, {}, {}};
    GW_CHECKED(call.kind->strategy->admit(review));
  }
  if (last_words) last_words(object);
  const auto* strategy = call.kind->strategy;
  set_propagation_finalizer(object, propagation_of(options, *strategy, object));
  auto grace = strategy->grace_seconds ? strategy->grace_seconds(object, options.grace_seconds) : 0;
  bool marked = mark_deleted(call, object, grace);

  Prepared prepared;
  if (stays(object, grace)) {
    if (!marked && json::equal(object, before)) {
      prepared.unchanged = current;
      return prepared;
    }
  } else {
    // Unless it had time to go, what watchers and the client get is the object as it was.
    if (!strategy->grace_seconds) object = std::move(before);
    prepared.gone = true;
  }
  if (options.dry_run) {
    prepared.preview = current;
    return prepared;
  }
  std::vector<store::Write> claims;
  if (prepared.gone) add_claims(*call.kind, &object, nullptr, claims);
  auto draft = close_object(call, std::move(object));
  auto effect = prepared.gone ? store::Write::Effect::kDelete : store::Write::Effect::kPut;
  prepared.writes.push_back({{call.kind->storage_name, name}, effect, current.header->revision, std::move(draft)});
  std::move(claims.begin(), claims.end(), std::back_inserter(prepared.writes));
  return prepared;
}

namespace {

// Kinds differ in what a completed delete answers with: the last state, or a Status that names it.
Answer delete_answer(const Call& call, Answer answer, bool gone) {
  if (!gone || call.kind->strategy->returns_deleted) return answer;
  const auto& header = *std::get<ObjectAnswer>(answer.content).object.header;
  return json_answer(success_status(call.kind->group, call.kind->plural, header.name.name, header.uid));
}

}  // namespace

void Resources::remove(const CallPtr& call, const Done& done) {
  auto options = read_delete_options(*call);
  if (!options) return done(options.error());
  warn_of_orphans(*call, *options);
  auto gone = std::make_shared<bool>(false);
  commit(
      call,
      [this, call, options = *options, gone](const store::Root& state) {
        auto prepared = prepare_remove(*call, options, call->object_name(), state, env_);
        *gone = prepared && prepared->gone;
        return prepared;
      },
      [call, gone, done](Result<Answer> answer) {
        if (!answer) return done(std::move(answer));
        done(delete_answer(*call, std::move(*answer), *gone));
      });
}

void Resources::remove_collection(const CallPtr& call, const Done& done) {
  auto options = read_delete_options(*call);
  if (!options) return done(options.error());
  warn_of_orphans(*call, *options);
  // The selection is that of a list; deletes take no page limit.
  auto selected = select(*call, *store_.root());
  if (!selected) return done(selected.error());
  struct Progress {
    ListAnswer deleted;
    std::size_t outstanding;
    std::optional<Error> error;
  };
  auto progress =
      std::make_shared<Progress>(Progress{{store_.root()->revision(), {}, "", -1}, selected->size(), std::nullopt});
  if (selected->empty()) return done(Answer{200, std::move(progress->deleted)});
  for (const auto& version : *selected) {
    commit(
        call,
        [this, call, options = *options, name = version.header->name](const store::Root& state) {
          return prepare_remove(*call, options, name, state, env_);
        },
        [progress, done, version](Result<Answer> answer) {
          if (answer) {
            progress->deleted.items.push_back(version);  // as it was when it was chosen
          } else if (answer.error().reason != Reason::kNotFound && !progress->error) {
            progress->error = answer.error();
          }
          if (--progress->outstanding > 0) return;
          if (progress->error) return done(*progress->error);
          done(Answer{200, std::move(progress->deleted)});
        });
  }
}

}  // namespace gangway::apiserver
