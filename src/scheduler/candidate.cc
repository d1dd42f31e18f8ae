#include "scheduler/candidate.h"

#include <algorithm>
#include <utility>

#include "sys/log.h"

namespace gangway::scheduler {
namespace {

// Each controller has a handle of its own on the one client that can be closed for all of them.
class Handle final : public client::ApiClient {
 public:
  explicit Handle(client::ApiClient& behind) : behind_(behind) {}
  void call(client::ApiRequest request, sys::Completion<api::Version> done) override {
    behind_.call(std::move(request), std::move(done));
  }
  void list(client::ListRequest request, sys::Completion<client::ListAnswer> done) override {
    behind_.list(std::move(request), std::move(done));
  }
  std::unique_ptr<sys::Subscription> watch(client::WatchRequest request, client::WatchCallbacks callbacks) override {
    return behind_.watch(std::move(request), std::move(callbacks));
  }

 private:
  client::ApiClient& behind_;
};

}  // namespace

struct Candidate::Term {
  Term(const CandidateParts& parts, client::ControllerObserver& observer)
      : cycles(parts.record ? parts.record() : nullptr),
        writer(parts.client, parts.loop),
        mirror(parts.client, parts.loop),
        suite({.loop = parts.loop,
               .mirror = mirror,
               .connect = [this](const std::string&) { return std::make_unique<Handle>(writer); },
               .scheduler_name = parts.scheduler_name,
               .claims = volumes::ClaimBinding::kIsTold,
               .cycles = cycles.get(),
               .observer = &observer}) {}

  std::unique_ptr<CycleSink> cycles;
  client::DrainableClient writer;
  client::Mirror mirror;
  Suite suite;
};

Candidate::Candidate(CandidateParts parts)
    : parts_(std::move(parts)),
      troubles_(parts_.loop.clock()),
      lease_(
          parts_.client, parts_.loop,
          [this] {
            client::LeaderLeaseOptions options = parts_.lease;
            options.on_trouble = [this](const Error& error) { on_trouble(error); };
            return options;
          }(),
          [this] { begin_term(); }, [this] { end_term(); }) {}

Candidate::~Candidate() {
  parts_.loop.cancel(deadline_);
}

void Candidate::begin_term() {
  sys::log_info("leading: pods with this schedulerName are placed from here",
                {{"schedulerName", parts_.scheduler_name},
                 {"epoch", lease_.epoch()},
                 {"identity", parts_.lease.identity},
                 {"after", lease_.has_taken_over() ? "a leader who was lost" : "nobody, or one who handed over"}});
  term_ = std::make_unique<Term>(parts_, troubles_);
  term_->suite.schedule(lease_);
  term_->suite.requeueing().start();
  term_->suite.accounting().start();
}

void Candidate::end_term() {
  sys::log_info("leading no more", {{"epoch", lease_.epoch()}});
  term_.reset();
}

void Candidate::on_trouble(const Error& error) {
  if (!troubles_.is_news("lease " + error.message)) return;
  sys::log_warning("the Lease cannot be read or written; trying again",
                   {{"lease", parts_.lease.lease.ns + "/" + parts_.lease.lease.name}, {"error", error.message}});
}

bool Candidate::is_ready() const {
  if (!term_) return !lease_.holder().empty();
  const auto all = term_->suite.controllers();
  return std::all_of(all.begin(), all.end(), [](const client::Controller* one) { return one->has_synced(); });
}

std::vector<const client::Controller*> Candidate::controllers() const {
  return term_ ? term_->suite.controllers() : std::vector<const client::Controller*>();
}

void Candidate::hand_over(sys::Task done) {
  if (!term_) return lease_.release(std::move(done));
  const auto once = [this, done = std::move(done), life = std::weak_ptr(life_)](bool in_time) {
    if (!life.expired()) drained(done, in_time);
  };
  deadline_ = parts_.loop.run_after(kLongestDrain, [once] { once(false); });
  term_->writer.close([once] { once(true); });
}

// The lease is renewed until here. Handed over only what is settled: after a write whose answer did not come, whoever
// is next must expect it.
void Candidate::drained(const sys::Task& done, bool in_time) {
  if (deadline_ == sys::TimerId::kNone) return;  // the other of the two came first
  parts_.loop.cancel(std::exchange(deadline_, sys::TimerId::kNone));
  if (in_time) return lease_.release(done);
  sys::log_warning("not all answers came in time: the Lease is left to its end");
  lease_.abandon();
  done();
}

}  // namespace gangway::scheduler
