// The pods of a StatefulSet and the claims that go with them: names, identity, storage. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/object.h"
#include "client/action.h"
#include "client/view.h"
#include "controllers/owned.h"
#include "json/value.h"

namespace gangway::controllers {

inline constexpr std::string_view kPodNameLabel = "statefulset.kubernetes.io/pod-name";
inline constexpr std::string_view kPodIndexLabel = "apps.kubernetes.io/pod-index";
inline constexpr std::string_view kRevisionLabel = "controller-revision-hash";

// "web", 2 ⇄ "web-2". None for a name that is not one of the set's.
std::string pod_name(std::string_view set, std::int64_t ordinal);
std::optional<std::int64_t> ordinal_of(std::string_view set, std::string_view pod);

// The pod of that ordinal, of the revision's template.
json::Value stateful_pod(const Owner& owner, const json::Value& set, const json::Value& pod_template,
                         const std::string& revision, std::int64_t ordinal);
// A patch for a pod that lost the labels of its identity; none when it has them.
std::optional<client::Action> restore_identity(const Owner& owner, const api::Version& pod, std::int64_t ordinal);

// What the claims of one ordinal need.
struct ClaimState {
  std::vector<client::Action> create;  // those that are missing
  std::vector<client::Action> own;     // references that the retention policy asks for, or no longer does
  bool is_blocked = false;             // one of another life is still going: no pod may use it
};

// `pod` is the pod of that ordinal, if there is one; `is_kept` says whether the set still wants it.
ClaimState claims_of(const client::View& view, const Owner& owner, const json::Value& set, std::int64_t ordinal,
                     const api::Version& pod, bool is_kept);

// True when the claim may be one of the set's, by its name.
bool may_be_claim_of(std::string_view set, std::string_view claim);

}  // namespace gangway::controllers
