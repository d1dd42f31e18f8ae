#include <fmt/format.h>

#include "api/selector.h"
#include "apiserver/rest/decode.h"
#include "apiserver/status.h"
#include "apiserver/subresources/subresources.h"
#include "base/quote.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kBudgets = "poddisruptionbudgets.policy";

Result<json::Value> read_object(const Call& call, std::string_view kind) {
  GW_TRY(auto parsed, read_body(call));
  auto sent = json::string_at(parsed.value, {"kind"});
  if (!parsed.value.is_object() || (!sent.empty() && sent != kind)) {
    return bad_request(fmt::format("the body must be of kind {} (got \"{}\")", kind, sent));
  }
  return std::move(parsed.value);
}

void answer_success(const Done& done, Result<Answer> answer) {
  if (!answer) return done(std::move(answer));
  json::Object status{
      {"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", json::Object()}, {"status", "Success"}, {"code", 201}};
  done(json_answer(status, 201));
}

// A condition is replaced as a whole, but keeps the time since when it is what it is.
void set_condition(json::Value& pod, json::Object condition, WallTime now) {
  auto& status = json::object_at(pod, {"status"});
  auto& conditions = status["conditions"];
  if (!conditions.is_array()) conditions = json::Array();
  condition["lastProbeTime"] = nullptr;
  condition["lastTransitionTime"] = to_rfc3339(now);
  for (auto& present : conditions.get_array()) {
    if (json::string_at(present, {"type"}) != condition["type"].as_string()) continue;
    if (json::string_at(present, {"status"}) == condition["status"].as_string()) {
      condition["lastTransitionTime"] = json::string_at(present, {"lastTransitionTime"});
    }
    present = std::move(condition);
    return;
  }
  conditions.get_array().push_back(std::move(condition));
}

Error binding_conflict(const Call& call, std::string_view why) {
  auto error = conflict(*call.kind, call.info.name, why);
  error.subject.kind = "pods/binding";
  error.message = fmt::format("Operation cannot be fulfilled on pods/binding \"{}\": {}", call.info.name, why);
  return error;
}

// What is wrong with a target is a 500 with the real server, and names no object.
Result<void> check_target(const json::Value& binding) {
  std::vector<std::string> problems;
  auto kind = json::string_at(binding, {"target", "kind"});
  if (!kind.empty() && kind != "Node") {
    problems.push_back(
        fmt::format("target.kind: Unsupported value: {}: supported values: \"Node\", \"<empty>\"", quoted(kind)));
  }
  if (json::string_at(binding, {"target", "name"}).empty()) problems.emplace_back("target.name: Required value");
  if (problems.empty()) return {};
  if (problems.size() == 1) return unforeseen(problems.front());
  return unforeseen(fmt::format("[{}]", fmt::join(problems, ", ")));
}

// The precondition is refused in the words of the real server's store, which schedulers look for.
Result<void> check_uid(const Call& call, std::string_view wanted, const json::Value& pod) {
  auto uid = json::string_at(pod, {"metadata", "uid"});
  if (wanted.empty() || wanted == uid) return {};
  return conflict(
      *call.kind, call.info.name,
      fmt::format("StorageError: invalid object, Code: 4, Key: /registry/pods/{}/{}, ResourceVersion: 0, "
                  "AdditionalErrorMsg: Precondition failed: UID in precondition: {}, UID in object meta: {}",
                  call.info.ns, call.info.name, wanted, uid));
}

Result<Edited> bind(const Call& call, const json::Value& binding, const json::Value& old) {
  auto node = json::string_at(binding, {"target", "name"});
  if (json::find(old, {"metadata", "deletionTimestamp"})) {
    return binding_conflict(call, fmt::format("pod {} is being deleted, cannot be assigned to a host", call.info.name));
  }
  if (auto bound = json::string_at(old, {"spec", "nodeName"}); !bound.empty()) {
    return binding_conflict(call, fmt::format("pod {} is already assigned to node \"{}\"", call.info.name, bound));
  }
  if (const auto* gates = json::find(old, {"spec", "schedulingGates"});
      gates && gates->is_array() && !gates->get_array().empty()) {
    return binding_conflict(call, fmt::format("pod {} has non-empty .spec.schedulingGates", call.info.name));
  }
  GW_CHECKED(check_uid(call, json::string_at(binding, {"metadata", "uid"}), old));
  auto pod = old;
  if (auto wanted = json::string_at(binding, {"metadata", "resourceVersion"}); !wanted.empty()) {
    json::object_at(pod, {"metadata"})["resourceVersion"] = wanted;
  }
  json::object_at(pod, {"spec"})["nodeName"] = node;
  if (const auto* annotations = json::find(binding, {"metadata", "annotations"});
      annotations && annotations->is_object()) {
    auto& target = json::object_at(pod, {"metadata", "annotations"});
    for (const auto& [key, value] : annotations->get_object()) target[key] = value;
  }
  set_condition(pod, {{"type", "PodScheduled"}, {"status", "True"}}, call.now);
  return Edited{std::move(pod), true};
}

Error too_many_disruptions(std::string_view budget, std::int64_t desired, std::int64_t healthy) {
  Error error;
  error.reason = Reason::kTooManyRequests;
  error.message = "Cannot evict pod as it would violate the pod's disruption budget.";
  error.causes.push_back(Cause{
      "DisruptionBudget",
      fmt::format("The disruption budget {} needs {} healthy pods and has {} currently", budget, desired, healthy),
      ""});
  return error;
}

struct Budget {
  api::Version version;
  json::Value object;
};

Result<std::optional<Budget>> budget_of(const store::Root& state, const api::Header& pod) {
  std::optional<Budget> found;
  for (const auto& version : state.objects(std::string(kBudgets)).in_namespace(pod.name.ns)) {
    GW_TRY(auto object, json::parse(*version.json));
    const auto* selector = json::find(object, {"spec", "selector"});
    if (!selector) continue;
    auto parsed = api::read_label_selector(*selector);
    if (!parsed || !parsed->matches(pod)) continue;
    if (found) {
      return unforeseen(
          "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.");
    }
    found = Budget{version, std::move(object)};
  }
  return found;
}

bool is_ready(const json::Value& pod) {
  const auto* conditions = json::find(pod, {"status", "conditions"});
  if (!conditions || !conditions->is_array()) return false;
  for (const auto& condition : conditions->get_array()) {
    if (json::string_at(condition, {"type"}) == "Ready") return json::string_at(condition, {"status"}) == "True";
  }
  return false;
}

bool needs_no_budget(const json::Value& pod) {
  auto phase = json::string_at(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed" || phase == "Pending" ||
         json::find(pod, {"metadata", "deletionTimestamp"});
}

std::int64_t count_of(const Budget& budget, std::string_view field) {
  const auto* value = json::find(budget.object, {"status", field});
  return value && value->is_int64() ? value->get_int64() : 0;
}

// A pod that is not ready protects nobody: its budget may let it go, and is not charged for it.
bool goes_free(const Budget& budget, const json::Value& pod) {
  if (is_ready(pod)) return false;
  if (json::string_at(budget.object, {"spec", "unhealthyPodEvictionPolicy"}) == "AlwaysAllow") return true;
  auto desired = count_of(budget, "desiredHealthy");
  return desired > 0 && count_of(budget, "currentHealthy") >= desired;
}

// The write that takes one disruption off the budget.
Result<store::Write> charge(const Call& call, Budget budget, std::string_view pod_name) {
  auto number = [&](std::string_view field) { return count_of(budget, field); };
  const auto& name = budget.version.header->name;
  if (number("observedGeneration") < budget.version.header->generation) {
    auto error = too_many_disruptions(name.name, number("desiredHealthy"), number("currentHealthy"));
    error.causes.front().message =
        fmt::format("The disruption budget {} is still being processed by the server.", name.name);
    error.retry_after_seconds = 10;
    return error;
  }
  auto allowed = number("disruptionsAllowed");
  if (allowed <= 0) return too_many_disruptions(name.name, number("desiredHealthy"), number("currentHealthy"));
  auto& status = json::object_at(budget.object, {"status"});
  status["disruptionsAllowed"] = allowed - 1;
  json::object_at(budget.object, {"status", "disruptedPods"})[pod_name] = to_rfc3339(call.now);
  auto resolved = call.registry->resolve("policy", "v1", "poddisruptionbudgets");
  auto draft = draft_of(*resolved->kind, budget.object);
  return store::Write{
      {std::string(kBudgets), name}, store::Write::Effect::kPut, budget.version.header->revision, std::move(draft)};
}

Result<Prepared> evict(const Call& call, const DeleteOptions& options, const store::Root& state,
                       const PrepareEnv& env) {
  auto current = state.get(call.object_key());
  if (!current) return not_found(*call.kind, call.info.name);
  auto say_why = [&call](json::Value& pod) {
    set_condition(pod,
                  {{"type", "DisruptionTarget"},
                   {"status", "True"},
                   {"reason", "EvictionByEvictionAPI"},
                   {"message", "Eviction API: evicting"}},
                  call.now);
  };
  GW_TRY(auto prepared, prepare_remove(call, options, call.object_name(), state, env, say_why));
  GW_TRY(auto pod, json::parse(*current.json));
  if (needs_no_budget(pod)) return prepared;
  GW_TRY(auto budget, budget_of(state, *current.header));
  if (!budget || goes_free(*budget, pod)) return prepared;
  GW_TRY(auto write, charge(call, std::move(*budget), call.info.name));
  if (!prepared.writes.empty()) prepared.writes.push_back(std::move(write));
  return prepared;
}

}  // namespace

void serve_binding(Resources& resources, const CallPtr& call, const Done& done) {
  auto options = read_write_options(*call);
  if (!options) return done(options.error());
  auto binding = read_object(*call, "Binding");
  if (!binding) return done(binding.error());
  if (json::string_at(*binding, {"metadata", "name"}) != call->info.name)
    return done(bad_request("name in URL does not match name in Binding object"));
  if (auto target = check_target(*binding); !target) return done(target.error());
  resources.edit(
      call, *options,
      [call, binding = std::move(*binding)](const json::Value& old) { return bind(*call, binding, old); },
      [done](Result<Answer> answer) { answer_success(done, std::move(answer)); });
}

void serve_binding_of_body(Resources& resources, const CallPtr& call, const Done& done) {
  auto binding = read_object(*call, "Binding");
  if (!binding) return done(binding.error());
  auto pods = call->registry->resolve("", "v1", "pods");
  call->kind = pods->kind;
  call->version = pods->version;
  call->info.name = json::string_at(*binding, {"metadata", "name"});
  call->info.subresource = "binding";
  serve_binding(resources, call, done);
}

void serve_eviction(Resources& resources, const CallPtr& call, const Done& done) {
  auto eviction = read_object(*call, "Eviction");
  if (!eviction) return done(eviction.error());
  auto name = json::string_at(*eviction, {"metadata", "name"});
  if (!name.empty() && name != call->info.name)
    return done(bad_request("name in URL does not match name in Eviction object"));
  DeleteOptions options;
  if (const auto* given = json::find(*eviction, {"deleteOptions"}); given && given->is_object()) {
    auto parsed = delete_options_of(*given);
    if (!parsed) return done(parsed.error());
    options = *parsed;
  }
  options.dry_run |= call->query.get("dryRun") == "All";
  resources.commit(
      call,
      [&resources, call, options](const store::Root& state) { return evict(*call, options, state, resources.env()); },
      [done](Result<Answer> answer) { answer_success(done, std::move(answer)); });
}

// An update as any other, but that the strategy keeps the status and takes the list of holders.
void serve_finalize(Resources& resources, const CallPtr& call, const Done& done) {
  resources.update(call, done);
}

}  // namespace gangway::apiserver
