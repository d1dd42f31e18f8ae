// Fetch: the seam to HTTP servers that are not the API: probes of containers, registries, dashboards. src/net has the
// real one; tests script theirs. Calls and answers belong to the loop of whoever made it; answers come by post, once.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "sys/completion.h"

namespace gangway::sys {

struct FetchRequest {
  std::string method = "GET";
  bool tls = false;  // certificates are not verified: probes ask whether somebody answers, not who
  std::string host;
  std::uint16_t port = 0;
  std::string path = "/";  // and query
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  Duration timeout = std::chrono::seconds(1);
};

struct FetchAnswer {
  int status = 0;
  std::string location;  // of a redirect
  std::string body;      // its first 64 KiB
};

class Fetch {
 public:
  virtual ~Fetch() = default;
  // Any status is an answer. Redirects are not followed.
  virtual void fetch(FetchRequest request, Completion<FetchAnswer> done) = 0;
  // Whether somebody accepts connections there.
  virtual void connect(std::string host, std::uint16_t port, Duration timeout, Completion<void> done) = 0;
};

}  // namespace gangway::sys
