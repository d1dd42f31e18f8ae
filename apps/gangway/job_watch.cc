#include "job_watch.h"

#include <chrono>
#include <utility>

#include "cli/arena/instance.h"
#include "client/resource.h"
#include "run_on.h"
#include "scheduler/requeue.h"

namespace gangway::arena {

using cli::arena::ReadObjects;

JobWatch::JobWatch(ClusterConnection& connection, const std::string& ns, const ReadObjects& served)
    : connection_(connection) {
  for (const ReadObjects::Jobs& jobs : served.jobs) add(jobs.resource, std::string(jobs.kind), true);
  add(client::resources::kPods, "", true);
  // Only says more, and not everybody may see it.
  add(scheduler::kRequeuedPods, "", false);
  run_on(connection_.loop(), [&] {
    for (auto& source : sources_) start(*source, ns);
    return true;
  });
}

JobWatch::~JobWatch() {
  run_on(connection_.loop(), [&] {
    sources_.clear();
    return true;
  });
}

void JobWatch::add(const client::Resource& resource, std::string kind, bool must_sync) {
  auto source = std::make_unique<Source>();
  source->resource = resource;
  source->kind = std::move(kind);
  source->must_sync = must_sync;
  sources_.push_back(std::move(source));
}

void JobWatch::start(Source& source, const std::string& ns) {
  client::InformerOptions options;
  options.what.resource = source.resource;
  options.what.ns = ns;
  source.informer = std::make_unique<client::Informer>(connection_.client(), connection_.loop(), std::move(options));
  client::InformerHandlers handlers;
  handlers.on_change = [this, &source](const client::ObjectChange& change) { on_change(source, change); };
  handlers.on_progress = [this] { on_progress(); };
  source.subscription = source.informer->subscribe(std::move(handlers));
  source.informer->start();
}

void JobWatch::on_change(Source& source, const client::ObjectChange& change) {
  const api::ObjectName& name = change.now.header->name;
  auto document = json::parse(*change.now.json);
  const bool is_gone = change.type == client::ObjectChange::Type::kDeleted || !document;
  // Of all pods of a cluster only those that train are kept.
  const bool is_other_pod =
      !is_gone && source.resource == client::resources::kPods && cli::arena::owner_key(*document).empty();
  const std::lock_guard lock(mutex_);
  if (is_gone || is_other_pod) {
    if (source.objects.erase(name) == 0) return;
  } else {
    // The items of a list leave out what the list says once for all of them.
    if (!source.kind.empty() && document->is_object()) document->get_object()["kind"] = source.kind;
    source.objects[name] = std::move(*document);
  }
  has_news_ = true;
  if (is_complete_) changed_.notify_all();
}

void JobWatch::on_progress() {
  if (is_complete_) return;
  for (const auto& source : sources_)
    if (source->must_sync && (source->informer == nullptr || !source->informer->has_synced())) return;
  const std::lock_guard lock(mutex_);
  is_complete_ = has_news_ = true;
  changed_.notify_all();
}

bool JobWatch::wait(Duration at_most) {
  std::unique_lock lock(mutex_);
  const bool has_changed = changed_.wait_for(lock, at_most, [&] { return is_complete_ && has_news_; });
  if (has_changed) has_news_ = false;
  return has_changed;
}

ReadObjects JobWatch::objects() const {
  ReadObjects read;
  const std::lock_guard lock(mutex_);
  for (const auto& source : sources_) {
    std::vector<json::Value> documents;
    documents.reserve(source->objects.size());
    for (const auto& [name, document] : source->objects) documents.push_back(document);
    if (!source->kind.empty()) {
      read.jobs.push_back({source->resource, std::move(documents), cli::arena::job_kind(source->kind)->kind});
    } else if (source->resource == client::resources::kPods) {
      read.pods = std::move(documents);
    } else {
      read.requeued_pods = std::move(documents);
    }
  }
  return read;
}

std::string JobWatch::trouble() const {
  return run_on(connection_.loop(), [&] {
    for (const auto& source : sources_)
      if (source->must_sync && !source->informer->status().last_error.empty())
        return source->informer->status().last_error;
    return std::string();
  });
}

}  // namespace gangway::arena
