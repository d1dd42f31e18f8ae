#include "agent/status_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quote.h"
#include "client/resource.h"
#include "sys/log.h"

namespace gangway::agent {
namespace {

api::ObjectKey key_of(const std::string& uid) {
  return {"", {"", uid}};
}

std::string delete_options(const std::string& uid) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0,"preconditions":{{"uid":{}}}}})",
      quoted(uid));
}

std::string patch_of(const std::string& uid, api::Revision known, const std::string& status) {
  const std::string precondition = known == 0 ? "" : fmt::format(R"(,"resourceVersion":"{}")", known);
  return fmt::format(R"({{"metadata":{{"uid":{}{}}},"status":{}}})", quoted(uid), precondition, status);
}

// Errors that trying again does not mend: the pod is gone, or the server will not have it. One whose name another pod
// bears by now is forgotten by the agent when its informer says so.
bool is_final(const Error& error) {
  return error.reason == Reason::kNotFound || error.reason == Reason::kInvalid || error.reason == Reason::kBadRequest;
}

}  // namespace

StatusWriter::StatusWriter(sys::EventLoop& loop, Options options, OnDelivered on_delivered)
    : options_(std::move(options)),
      on_delivered_(std::move(on_delivered)),
      queue_(loop, {.first_retry = std::chrono::milliseconds(100), .longest_retry = std::chrono::seconds(10)},
             [this] { pump(); }) {}

void StatusWriter::write(client::ApiClient& client, const PodIdentity& pod, std::string status, bool settled,
                         api::Revision known) {
  Entry& entry = entries_[pod.uid];
  entry.client = &client;
  entry.pod = pod;
  entry.status = std::move(status);
  entry.known = std::max(entry.known, known);
  if (settled) {
    queue_.add(key_of(pod.uid));
  } else {
    queue_.add_after(key_of(pod.uid), options_.hold);
  }
}

void StatusWriter::remove(client::ApiClient& client, const PodIdentity& pod) {
  Entry& entry = entries_[pod.uid];
  if (std::exchange(entry.remove, true)) return;
  entry.client = &client;
  entry.pod = pod;
  queue_.add(key_of(pod.uid));
}

void StatusWriter::forget(const std::string& pod_uid) {
  const auto at = entries_.find(pod_uid);
  if (at == entries_.end()) return;
  at->second.status.reset();
  at->second.remove = false;
  if (!at->second.under_way) entries_.erase(at);
}

void StatusWriter::pump() {
  while (under_way_ < options_.max_under_way) {
    const auto key = queue_.take();
    if (!key) return;
    const auto at = entries_.find(key->object.name);
    if (at == entries_.end()) {
      queue_.done(*key);
      continue;
    }
    send(at->first, at->second);
  }
}

void StatusWriter::send(const std::string& uid, Entry& entry) {
  entry.under_way = true;
  ++under_way_;
  if (entry.status && entry.must_read) return read(uid, entry);
  client::ApiRequest request;
  request.resource = client::resources::kPods;
  request.object = {entry.pod.ns, entry.pod.name};
  request.field_manager = options_.field_manager;
  std::optional<std::string> status = std::exchange(entry.status, std::nullopt);
  if (status) {
    request.method = client::Method::kPatch;
    request.patch_type = client::PatchType::kStrategic;
    request.subresource = "status";
    request.body = patch_of(uid, entry.known, *status);
  } else {
    request.method = client::Method::kDelete;
    request.body = delete_options(uid);
  }
  entry.client->call(std::move(request), [this, uid, status = std::move(status),
                                          life = std::weak_ptr(life_)](Result<api::Version> answer) mutable {
    if (!life.expired()) answered(uid, std::move(status), std::move(answer));
  });
}

void StatusWriter::read(const std::string& uid, Entry& entry) {
  client::ApiRequest request;
  request.method = client::Method::kGet;
  request.resource = client::resources::kPods;
  request.object = {entry.pod.ns, entry.pod.name};
  std::optional<std::string> status = std::exchange(entry.status, std::nullopt);
  entry.client->call(std::move(request), [this, uid, status = std::move(status),
                                          life = std::weak_ptr(life_)](Result<api::Version> answer) mutable {
    if (!life.expired()) on_read(uid, std::move(status), std::move(answer));
  });
}

void StatusWriter::on_read(const std::string& uid, std::optional<std::string> status, Result<api::Version> answer) {
  if (answer && answer->header->uid != uid)
    answer = Error{.reason = Reason::kConflict, .message = "another pod has the name", .subject = {}, .causes = {}};
  if (!answer) return answered(uid, std::move(status), std::move(answer));
  --under_way_;
  Entry& entry = entries_.at(uid);
  entry.under_way = false;
  entry.must_read = false;
  entry.known = std::max(entry.known, answer->header->revision);
  if (!entry.status) entry.status = std::move(status);
  queue_.done(key_of(uid));
  queue_.add(key_of(uid));
  pump();
}

void StatusWriter::answered(const std::string& uid, std::optional<std::string> status, Result<api::Version> answer) {
  --under_way_;
  const auto at = entries_.find(uid);
  Entry& entry = at->second;
  entry.under_way = false;
  const bool failed = !answer && !is_final(answer.error());
  if (failed) {
    if (status) entry.must_read |= answer.error().reason == Reason::kConflict;
    if (status && !entry.status) entry.status = std::move(status);
    queue_.done_without_adds(key_of(uid));
    queue_.retry(key_of(uid), std::chrono::seconds(answer.error().retry_after_seconds));
    return pump();
  }
  queue_.forget(key_of(uid));
  if (!status) entry.remove = false;
  if (!answer && answer.error().reason != Reason::kNotFound) {
    sys::log_warning("a pod's status was refused",
                     {{"namespace", entry.pod.ns}, {"pod", entry.pod.name}, {"error", answer.error().message}});
  }
  if (answer && status && answer->header != nullptr) {
    entry.known = std::max(entry.known, answer->header->revision);
    if (on_delivered_) on_delivered_(uid, answer->header->revision);
  }
  settle(uid);
  pump();
}

void StatusWriter::settle(const std::string& uid) {
  const auto at = entries_.find(uid);
  queue_.done(key_of(uid));
  if (at == entries_.end()) return;
  if (!at->second.status && !at->second.remove) {
    entries_.erase(at);
  } else {
    queue_.add(key_of(uid));
  }
}

}  // namespace gangway::agent
