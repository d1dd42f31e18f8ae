// Resources: get and list.
#include <fmt/format.h>

#include "apiserver/rest/history.h"
#include "apiserver/rest/list_options.h"
#include "apiserver/rest/resources.h"
#include "apiserver/status.h"

namespace gangway::apiserver {
namespace {

Error too_large(api::Revision wanted, api::Revision current) {
  Error error;
  error.reason = Reason::kTimeout;
  error.message = fmt::format("Too large resource version: {}, current: {}", wanted, current);
  error.causes.push_back(Cause{"ResourceVersionTooLarge", "Too large resource version", ""});
  error.retry_after_seconds = 1;
  return error;
}

Error expired(std::string message) {
  Error error;
  error.reason = Reason::kExpired;
  error.message = std::move(message);
  return error;
}

constexpr auto kTokenExpired =
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter.";
constexpr auto kRevisionExpired = "The resourceVersion for the provided list is too old.";

// The earlier revision that a list asks for, by its token or outright; none: the newest will do.
Result<std::optional<api::Revision>> revision_asked_for(const ListOptions& options,
                                                        const std::optional<ContinuePoint>& point,
                                                        api::Revision newest) {
  auto wanted = point ? point->revision : options.revision.value_or(0);
  if (wanted == 0 || wanted == newest) return std::optional<api::Revision>();
  if (wanted > newest) return point ? expired(kTokenExpired) : too_large(wanted, newest);
  bool exact = options.match == RevisionMatch::kExact || (options.match == RevisionMatch::kUnset && options.limit > 0);
  return point || exact ? std::optional(wanted) : std::nullopt;
}

struct Walk {
  store::ObjectMap::Iterator at;
  store::ObjectMap::Iterator end;
};

Walk walk_of(const store::ObjectMap& objects, const Selection& selection, const std::optional<ContinuePoint>& point) {
  // A list of one name, as kubectl's get and wait make, is a look-up and not a scan.
  if (!selection.name.empty() && !selection.ns.empty()) {
    auto at = objects.lower_bound({selection.ns, selection.name});
    auto end = objects.upper_bound({selection.ns, selection.name});
    return {at, end};
  }
  if (selection.ns.empty()) return {point ? objects.lower_bound(point->start) : objects.begin(), objects.end()};
  auto range = objects.in_namespace(selection.ns);
  return {point ? objects.lower_bound(point->start) : range.begin(), range.end()};
}

std::int64_t remaining_after(const store::ObjectMap& objects, const Selection& selection, const api::ObjectName& next) {
  auto before = objects.count_before(next);
  if (selection.ns.empty()) return static_cast<std::int64_t>(objects.size() - before);
  auto range = objects.in_namespace(selection.ns);
  auto end = range.end() == objects.end() ? objects.size() : objects.count_before(range.end()->header->name);
  return static_cast<std::int64_t>(end - before);
}

}  // namespace

void Resources::get(const CallPtr& call, const Done& done) const {
  auto root = store_.root();
  auto wanted = read_revision(call->query);
  if (!wanted) return done(wanted.error());
  if (*wanted && **wanted > root->revision()) return done(too_large(**wanted, root->revision()));
  auto version = root->get(call->object_key());
  if (!version) return done(not_found(*call->kind, call->info.name));
  done(Answer{200, ObjectAnswer{std::move(version)}});
}

Result<std::vector<api::Version>> Resources::select(const Call& call, const store::Root& state) {
  GW_TRY(auto selection, read_selection(call));
  std::vector<api::Version> selected;
  const auto& objects = state.objects(call.kind->storage_name);
  for (auto [at, end] = walk_of(objects, selection, std::nullopt); at != end; ++at) {
    if (selection.matches(*at->header)) selected.push_back(*at);
  }
  return selected;
}

void Resources::list(const CallPtr& call, const Done& done) {
  auto options = read_list_options(*call);
  if (!options) return done(options.error());
  std::optional<ContinuePoint> point;
  if (!options->continue_token.empty()) {
    auto decoded = decode_continue(options->continue_token);
    if (!decoded) return done(decoded.error());
    point = std::move(*decoded);
  }
  auto root = store_.root();
  auto earlier = revision_asked_for(*options, point, root->revision());
  if (!earlier) return done(earlier.error());
  auto held = *earlier ? paged_roots_.find(**earlier, call->now) : nullptr;
  if (held) root = held;
  store::ObjectMap objects = root->objects(call->kind->storage_name);
  if (*earlier && !held) {
    auto past = objects_as_of(store_, *root, call->kind->storage_name, **earlier);
    if (!past) return done(expired(point ? kTokenExpired : kRevisionExpired));
    objects = std::move(*past);
  }

  const auto& selection = options->selection;
  ListAnswer answer;
  answer.revision = earlier->value_or(root->revision());
  auto limit = static_cast<std::size_t>(options->limit);
  for (auto [at, end] = walk_of(objects, selection, point); at != end; ++at) {
    if (!selection.matches(*at->header)) continue;
    if (limit > 0 && answer.items.size() == limit) {
      answer.continue_token = encode_continue({answer.revision, at->header->name});
      if (selection.selects_all()) answer.remaining = remaining_after(objects, selection, at->header->name);
      if (root->revision() == answer.revision) paged_roots_.hold(root, call->now);
      break;
    }
    answer.items.push_back(*at);
  }
  done(Answer{200, std::move(answer)});
}

}  // namespace gangway::apiserver
