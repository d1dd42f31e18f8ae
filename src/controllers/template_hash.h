// Equality and hashes of pod templates, which say whether a workload has changed. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "json/value.h"

namespace gangway::controllers {

inline constexpr std::string_view kPodTemplateHash = "pod-template-hash";

// A text that is the same for documents that mean the same: keys are sorted, and what is null is left out.
std::string canonical_text(const json::Value& value);
// The same of a pod template without its label pod-template-hash, which only tells copies of it apart.
std::string canonical_template(const json::Value& pod_template);

// Ten characters that stand for the text in names and labels. What it yields for the same arguments must never change:
// another `collisions` gives another hash where one is taken by something else.
std::string short_hash(const std::string& text, std::int64_t collisions);

}  // namespace gangway::controllers
