// Preflight: asks a cluster whether everything is there that scheduling for it takes, until it is, and says what is
// not.
//
//   asking ── every kind is served, every right is given ──► done: on_passed, once
//      ▲└── something is missing, or nobody answers: said when it changes
//      └──── a moment later
//
// Runs on the client's loop; nothing comes after its end.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/api_client.h"
#include "scheduler/rights.h"
#include "sys/event_loop.h"

namespace gangway::scheduler {

struct Requirements {
  std::vector<client::Resource> kinds;
  std::vector<Right> rights;
};

class Preflight {
 public:
  Preflight(client::ApiClient& client, sys::EventLoop& loop, Requirements requirements, sys::Task on_passed);
  ~Preflight();
  Preflight(const Preflight&) = delete;
  Preflight& operator=(const Preflight&) = delete;

  void start() { ask(); }
  bool has_passed() const { return has_passed_; }
  // What was missing when it was last asked, each with what to do about it.
  const std::vector<std::string>& missing() const { return missing_; }

  static constexpr Duration kAskAgain = std::chrono::seconds(2);

 private:
  struct Round;
  void ask();
  void ask_for_kind(const std::shared_ptr<Round>& round, const client::Resource& kind);
  void ask_for_right(const std::shared_ptr<Round>& round, const Right& right);
  void answered(const std::shared_ptr<Round>& round);
  void say(std::vector<std::string> missing);

  client::ApiClient& client_;
  sys::EventLoop& loop_;
  Requirements requirements_;
  sys::Task on_passed_;
  bool has_passed_ = false;
  std::vector<std::string> missing_;
  sys::TimerId timer_ = sys::TimerId::kNone;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

}  // namespace gangway::scheduler
