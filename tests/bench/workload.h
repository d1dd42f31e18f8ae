// The objects and requests of the load test: pods as a training job's controller makes them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gangway::bench {

// How many values the label `app` has: a selected list shows one pod in so many.
inline constexpr std::size_t kApps = 10;

std::string pod_name(std::size_t index);
// About 2 KB; stored, with defaults, the token volume and managed fields, about 4.5 KB.
std::string pod_body(std::size_t index);
// What a kubelet reports once the pod runs. `turn` makes two reports about one pod differ.
std::string status_patch(std::size_t index, std::size_t turn);

// A whole HTTP/1.1 request.
std::string http_request(std::string_view method, std::string_view path, std::string_view body = {},
                         std::string_view content_type = "application/json");

}  // namespace gangway::bench
