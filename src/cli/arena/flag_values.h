// Values of flags that are small languages: K=V, claims, directories, tolerations, devices, durations. Pure.
//
// Each reader says what is wrong in the words of a user, without the flag's name: who collects the causes knows it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "json/value.h"

namespace gangway::cli::arena {

using KeyValue = std::pair<std::string, std::string>;

struct Mount {
  std::string source;  // a claim, or a directory of the node
  std::string path;    // in the container
};

// "KEY=VALUE"; the value may hold more equal signs, or be empty.
Result<KeyValue> parse_key_value(std::string_view text);
// "CLAIM:/path"
Result<Mount> parse_data(std::string_view text);
// "/host" or "/host:/container"
Result<Mount> parse_data_dir(std::string_view text);
// "amd.com/gpu=1"
Result<KeyValue> parse_device(std::string_view text);
// "all", "key=value:Effect", "key:Effect", "key=value:Effect,Operator": an object of a pod's spec.tolerations.
Result<json::Value> parse_toleration(std::string_view text);
// "./train.conf", "~/train.conf:/etc/train.conf". Relative paths are left as they are; `home` stands for ~.
Result<Mount> parse_config_file(std::string_view text, std::string_view home);
// A duration above zero, or zero where that is allowed: "90s", "1h30m".
Result<Duration> parse_time(std::string_view text, bool may_be_zero);
// A name by which an image can be fetched: "horovod:0.13", "registry:5000/team/torch@sha256:…".
Result<void> check_image(std::string_view text);
// A quantity of a resource that is not negative.
Result<void> check_quantity(std::string_view text);

}  // namespace gangway::cli::arena
