// What a pod's specification names, as a set. Pure.
#pragma once

#include <set>
#include <string>
#include <tuple>

#include "agent/pod/pod_spec.h"

namespace gangway::agent {

struct NamedKeys {
  KeyHolder in = KeyHolder::kConfigMap;
  std::string ns;
  std::string name;
  auto operator<=>(const NamedKeys&) const = default;
};

struct NamedToken {
  std::string account;
  std::string audience;
  std::int64_t seconds = 3600;
  auto operator<=>(const NamedToken&) const = default;
};

struct NamedObjects {
  std::set<NamedKeys> keys;
  std::set<std::string> claims;
  std::set<NamedToken> tokens;

  bool operator==(const NamedObjects&) const = default;
};

NamedObjects named_objects(const PodSpec& pod);

}  // namespace gangway::agent
