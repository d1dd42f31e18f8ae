#include "scheduler/preflight.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "client/resource.h"
#include "json/access.h"
#include "sys/log.h"

namespace gangway::scheduler {
namespace {

const client::Resource kReviews{"authorization.k8s.io", "v1", "selfsubjectaccessreviews"};

// No object has it: the answer is short, whatever there is.
constexpr const char* kMatchesNothing = "gangway.dev/preflight=asked";

}  // namespace

// What one round of questions has found out so far.
struct Preflight::Round {
  std::size_t unanswered = 0;
  std::set<std::string> kinds;                          // not served
  std::map<std::string, std::set<std::string>> rights;  // not given: verbs by what they are for
  std::set<std::string> silence;                        // questions that were not answered, and why

  std::vector<std::string> missing() const {
    std::vector<std::string> all;
    for (const std::string& error : silence) all.push_back("the API does not answer: " + error);
    if (!kinds.empty())
      all.push_back(fmt::format("kinds that are not installed: {}; `gangway crds | kubectl apply -f -` installs them",
                                fmt::join(kinds, ", ")));
    std::vector<std::string> denied;
    for (const auto& [what, verbs] : rights) denied.push_back(fmt::format("{} {}", fmt::join(verbs, ","), what));
    if (!denied.empty())
      all.push_back(
          fmt::format("rights that are not granted: {}; `kubectl apply -f deploy/rbac.yaml` grants them to "
                      "the account kube-system/gangway-manager",
                      fmt::join(denied, "; ")));
    return all;
  }
};

Preflight::Preflight(client::ApiClient& client, sys::EventLoop& loop, Requirements requirements, sys::Task on_passed)
    : client_(client), loop_(loop), requirements_(std::move(requirements)), on_passed_(std::move(on_passed)) {}

Preflight::~Preflight() {
  loop_.cancel(timer_);
}

void Preflight::ask() {
  auto round = std::make_shared<Round>();
  round->unanswered = requirements_.kinds.size() + requirements_.rights.size() + 1;
  for (const client::Resource& kind : requirements_.kinds) ask_for_kind(round, kind);
  for (const Right& right : requirements_.rights) ask_for_right(round, right);
  // There may have been nothing to ask.
  loop_.post([this, round, life = std::weak_ptr(life_)] {
    if (!life.expired()) answered(round);
  });
}

void Preflight::ask_for_kind(const std::shared_ptr<Round>& round, const client::Resource& kind) {
  client::ListRequest request{.resource = kind, .ns = "", .label_selector = kMatchesNothing, .field_selector = ""};
  client_.list(request, [this, round, kind, life = std::weak_ptr(life_)](const Result<client::ListAnswer>& answer) {
    if (life.expired()) return;
    const Reason reason = answer ? Reason::kUnknown : answer.error().reason;
    // That it may not be listed is said with the rights.
    if (reason == Reason::kNotFound) {
      round->kinds.insert(client::resource_name(kind));
    } else if (!answer && reason != Reason::kForbidden) {
      round->silence.insert(answer.error().message);
    }
    answered(round);
  });
}

void Preflight::ask_for_right(const std::shared_ptr<Round>& round, const Right& right) {
  client::ApiRequest request;
  request.method = client::Method::kCreate;
  request.resource = kReviews;
  request.body = json::serialize(review_of(right));
  client_.call(std::move(request),
               [this, round, right, life = std::weak_ptr(life_)](const Result<api::Version>& answer) {
                 if (life.expired()) return;
                 if (!answer) {
                   round->silence.insert(answer.error().message);
                 } else if (const auto review = json::parse(*answer->json);
                            !review || !json::bool_at(*review, {"status", "allowed"})) {
                   round->rights[object_of(right)].insert(right.verb);
                 }
                 answered(round);
               });
}

void Preflight::answered(const std::shared_ptr<Round>& round) {
  if (--round->unanswered > 0) return;
  say(round->missing());
  if (missing_.empty()) {
    has_passed_ = true;
    return on_passed_();
  }
  timer_ = loop_.run_after(kAskAgain, [this] {
    timer_ = sys::TimerId::kNone;
    ask();
  });
}

void Preflight::say(std::vector<std::string> missing) {
  for (const std::string& what : missing)
    if (std::find(missing_.begin(), missing_.end(), what) == missing_.end())
      sys::log_error("cannot schedule yet: " + what);
  missing_ = std::move(missing);
}

}  // namespace gangway::scheduler
