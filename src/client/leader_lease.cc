#include "client/leader_lease.h"

#include <utility>

#include "client/resource.h"
#include "json/access.h"

namespace gangway::client {
namespace {

ApiRequest request_for(Method method, const api::ObjectName& lease) {
  ApiRequest request;
  request.method = method;
  request.resource = resources::kLeases;
  request.object = lease;
  request.field_manager = "gangway-leader";
  return request;
}

}  // namespace

LeaderLease::LeaderLease(ApiClient& client, sys::EventLoop& loop, LeaderLeaseOptions options, sys::Task on_acquired,
                         sys::Task on_lost)
    : client_(client),
      loop_(loop),
      options_(std::move(options)),
      on_acquired_(std::move(on_acquired)),
      on_lost_(std::move(on_lost)) {}

LeaderLease::~LeaderLease() {
  loop_.cancel(timer_);
  loop_.cancel(deadline_);
}

void LeaderLease::start() {
  if (std::exchange(running_, true)) return;
  attempt();
}

void LeaderLease::abandon() {
  running_ = false;
  loop_.cancel(std::exchange(timer_, sys::TimerId::kNone));
  lose();
}

void LeaderLease::release(sys::Task done) {
  const bool was_leading = leading_;
  abandon();
  if (!done) done = [] {};
  auto tree = was_leading ? json::parse(*held_.json) : Result<json::Value>(bad_request("nothing is held"));
  if (!tree) return loop_.post(std::move(done));
  json::Object& lease = json::object_at(*tree, {"spec"});
  lease["holderIdentity"] = "";
  lease["leaseDurationSeconds"] = 1;
  ApiRequest request = request_for(Method::kUpdate, options_.lease);
  request.body = json::serialize(*tree);
  client_.call(std::move(request), [done = std::move(done)](const Result<api::Version>&) { done(); });
}

void LeaderLease::attempt() {
  attempt_began_ = loop_.clock().mono();
  client_.call(request_for(Method::kGet, options_.lease), [this, life = std::weak_ptr(life_)](auto answer) {
    if (!life.expired() && running_) got(std::move(answer));
  });
}

void LeaderLease::got(Result<api::Version> answer) {
  if (!answer) {
    if (answer.error().reason == Reason::kNotFound) return create();
    return again_after(answer.error());
  }
  auto tree = json::parse(*answer->json);
  if (!tree) return again();
  holder_ = json::string_at(*tree, {"spec", "holderIdentity"});
  const bool is_free = holder_.empty() || holder_ == options_.identity || options_.is_sole;
  const bool is_seized = options_.seizes && epoch_ == 0;
  if (!is_free && !is_stale(*answer, *tree) && !is_seized) {
    lose();
    return again();
  }
  // A lease in our name may be that of an earlier process.
  if (!leading_) has_taken_over_ = !holder_.empty() && !options_.is_sole;
  write(*answer, std::move(*tree));
}

bool LeaderLease::is_stale(const api::Version& known, const json::Value& lease) {
  const MonoTime now = loop_.clock().mono();
  if (known.header->revision != seen_) {
    seen_ = known.header->revision;
    seen_at_ = now;
  }
  return now - seen_at_ >= std::chrono::seconds(json::integer_at(lease, {"spec", "leaseDurationSeconds"}));
}

json::Object LeaderLease::spec(const json::Value* before) const {
  const std::string now = to_rfc3339_micro(loop_.clock().wall());
  const bool ours =
      leading_ && before != nullptr && json::string_at(*before, {"spec", "holderIdentity"}) == options_.identity;
  const std::int64_t transitions = before == nullptr ? 0 : json::integer_at(*before, {"spec", "leaseTransitions"});
  const std::string since(before == nullptr ? std::string_view() : json::string_at(*before, {"spec", "acquireTime"}));
  return {{"holderIdentity", options_.identity},
          {"leaseDurationSeconds", std::chrono::duration_cast<std::chrono::seconds>(options_.lease_duration).count()},
          {"acquireTime", ours && !since.empty() ? since : now},
          {"renewTime", now},
          {"leaseTransitions", ours || before == nullptr ? transitions : transitions + 1}};
}

void LeaderLease::create() {
  ApiRequest request = request_for(Method::kCreate, {options_.lease.ns, ""});
  request.body = json::serialize(
      json::Object{{"apiVersion", "coordination.k8s.io/v1"},
                   {"kind", "Lease"},
                   {"metadata", json::Object{{"namespace", options_.lease.ns}, {"name", options_.lease.name}}},
                   {"spec", spec(nullptr)}});
  client_.call(std::move(request), [this, life = std::weak_ptr(life_)](auto answer) {
    if (!life.expired()) written(std::move(answer));
  });
}

void LeaderLease::write(const api::Version& known, json::Value lease) {
  lease.get_object()["spec"] = spec(&lease);
  json::object_at(lease, {"metadata"})["resourceVersion"] = std::to_string(known.header->revision);
  ApiRequest request = request_for(Method::kUpdate, options_.lease);
  request.body = json::serialize(lease);
  client_.call(std::move(request), [this, life = std::weak_ptr(life_)](auto answer) {
    if (!life.expired()) written(std::move(answer));
  });
}

void LeaderLease::written(Result<api::Version> answer) {
  if (!running_) return;
  if (!answer) return again_after(answer.error());
  held_ = *answer;
  holder_ = options_.identity;
  // Counted from before the request was sent: nobody can have seen the renewal earlier than that.
  renewed_at_ = attempt_began_;
  if (!options_.is_sole) check_deadline();
  if (options_.is_sole || loop_.clock().mono() - renewed_at_ < options_.renew_within) begin_term();
  if (!options_.is_sole) again();
}

void LeaderLease::begin_term() {
  if (std::exchange(leading_, true)) return;
  const auto lease = json::parse(*held_.json);
  epoch_ = (lease ? json::integer_at(*lease, {"spec", "leaseTransitions"}) : 0) + 1;
  term_began_ = held_.header->revision;
  on_acquired_();
}

void LeaderLease::check_deadline() {
  loop_.cancel(deadline_);
  deadline_ = loop_.run_at(renewed_at_ + options_.renew_within, [this] {
    deadline_ = sys::TimerId::kNone;
    lose();
  });
}

void LeaderLease::lose() {
  loop_.cancel(std::exchange(deadline_, sys::TimerId::kNone));
  if (std::exchange(leading_, false)) on_lost_();
}

void LeaderLease::again_after(const Error& trouble) {
  // Another was quicker: the next attempt sees him.
  const bool is_race = trouble.reason == Reason::kConflict || trouble.reason == Reason::kAlreadyExists;
  if (!is_race && options_.on_trouble) options_.on_trouble(trouble);
  again();
}

void LeaderLease::again() {
  // on_acquired may have released it.
  if (!running_) return;
  timer_ = loop_.run_after(options_.retry_every, [this] {
    timer_ = sys::TimerId::kNone;
    attempt();
  });
}

}  // namespace gangway::client
