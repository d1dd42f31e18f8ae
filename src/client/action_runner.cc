#include "client/action_runner.h"

#include <algorithm>

#include "base/check.h"
#include "client/resource.h"

namespace gangway::client {
namespace {

void set_preconditions(json::Value& body, const Target& target) {
  json::Object& metadata = json::object_at(body, {"metadata"});
  if (!target.uid.empty()) metadata["uid"] = target.uid;
  if (target.revision != 0) metadata["resourceVersion"] = std::to_string(target.revision);
}

// A JSON patch is a list; its preconditions are tests in front.
json::Value with_tests(const json::Value& patch, const Target& target) {
  json::Array steps;
  const auto test = [&](const char* path, std::string value) {
    steps.push_back(json::Object{{"op", "test"}, {"path", path}, {"value", std::move(value)}});
  };
  if (!target.uid.empty()) test("/metadata/uid", target.uid);
  if (target.revision != 0) test("/metadata/resourceVersion", std::to_string(target.revision));
  if (patch.is_array()) {
    for (const json::Value& step : patch.get_array()) steps.push_back(step);
  }
  return steps;
}

std::string delete_options(const Delete& action) {
  json::Object options{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  json::Object preconditions;
  if (!action.target.uid.empty()) preconditions["uid"] = action.target.uid;
  if (action.target.revision != 0) preconditions["resourceVersion"] = std::to_string(action.target.revision);
  if (!preconditions.empty()) options["preconditions"] = std::move(preconditions);
  if (action.grace_seconds) options["gracePeriodSeconds"] = *action.grace_seconds;
  switch (action.propagation) {
    case Propagation::kDefault:
      break;
    case Propagation::kBackground:
      options["propagationPolicy"] = "Background";
      break;
    case Propagation::kForeground:
      options["propagationPolicy"] = "Foreground";
      break;
    case Propagation::kOrphan:
      options["propagationPolicy"] = "Orphan";
      break;
  }
  return json::serialize(options);
}

ApiRequest request_for(const Target& target, Method method) {
  ApiRequest request;
  request.method = method;
  request.resource = target.resource;
  request.object = target.object;
  return request;
}

struct RequestMaker {
  ApiRequest operator()(const Create& action) const {
    ApiRequest request;
    request.method = Method::kCreate;
    request.resource = action.resource;
    request.object.ns = action.ns;
    request.body = json::serialize(action.body);
    return request;
  }
  ApiRequest operator()(const Update& action) const {
    ApiRequest request = request_for(action.target, Method::kUpdate);
    json::Value body = action.body;
    set_preconditions(body, action.target);
    request.body = json::serialize(body);
    request.subresource = action.subresource;
    return request;
  }
  ApiRequest operator()(const Patch& action) const {
    ApiRequest request = request_for(action.target, Method::kPatch);
    request.subresource = action.subresource;
    request.patch_type = action.type;
    if (action.type == PatchType::kJson) {
      request.body = json::serialize(with_tests(action.body, action.target));
    } else {
      json::Value body = action.body;
      set_preconditions(body, action.target);
      request.body = json::serialize(body);
    }
    return request;
  }
  ApiRequest operator()(const PatchStatus& action) const {
    return (*this)(Patch{action.target, action.body, PatchType::kMerge, "status"});
  }
  ApiRequest operator()(const Delete& action) const {
    ApiRequest request = request_for(action.target, Method::kDelete);
    request.body = delete_options(action);
    return request;
  }
  ApiRequest operator()(const Bind& action) const {
    ApiRequest request = request_for(action.target, Method::kCreate);
    request.subresource = "binding";
    json::Value body = json::Object{
        {"apiVersion", "v1"},
        {"kind", "Binding"},
        {"metadata", json::Object{{"name", action.target.object.name}, {"namespace", action.target.object.ns}}},
        {"target", json::Object{{"kind", "Node"}, {"name", action.node}}}};
    set_preconditions(body, action.target);
    request.body = json::serialize(body);
    return request;
  }
  ApiRequest operator()(const Probe&) const {
    GW_CHECK(false && "a probe is not a request");
    return {};
  }
  ApiRequest operator()(const Emit&) const {
    GW_CHECK(false && "an event is the EventWriter's business");
    return {};
  }
};

bool is_owned_by(const api::Version& version, const std::string& uid) {
  const auto& owners = version.header->owners;
  return std::any_of(owners.begin(), owners.end(), [&](const auto& owner) { return owner.uid == uid; });
}

}  // namespace

struct ActionRunner::Job {
  Action action;
  Done done;
  Resource resource;       // of a request
  api::ObjectName object;  // likewise
};

ApiRequest to_request(const Action& action, const std::string& field_manager) {
  ApiRequest request = std::visit(RequestMaker(), action);
  request.field_manager = field_manager;
  return request;
}

ActionRunner::ActionRunner(ApiClient& client, ActionRunnerOptions options, ProbeRunner* probes)
    : client_(client), options_(std::move(options)), probes_(probes) {}

void ActionRunner::run(Action action, Done done) {
  auto job = std::make_shared<Job>(Job{std::move(action), std::move(done), {}, {}});
  if (under_way_ < options_.max_under_way) {
    start(std::move(job));
  } else {
    queue_.push_back(std::move(job));
  }
}

void ActionRunner::start(std::shared_ptr<Job> job) {
  ++under_way_;
  if (const auto* question = std::get_if<Probe>(&job->action)) return probe(job, *question);
  const bool is_delete = std::holds_alternative<Delete>(job->action);
  ApiRequest request = to_request(job->action, options_.field_manager);
  job->resource = request.resource;
  job->object = request.object;
  if (const auto* create = std::get_if<Create>(&job->action))
    job->object.name = json::string_at(create->body, {"metadata", "name"});
  call(std::move(job), std::move(request), is_delete);
}

void ActionRunner::call(std::shared_ptr<Job> job, ApiRequest request, bool is_delete) {
  client_.call(std::move(request), [this, job, is_delete, life = std::weak_ptr(life_)](Result<api::Version> answer) {
    if (!life.expired()) answered(job, std::move(answer), is_delete);
  });
}

void ActionRunner::probe(std::shared_ptr<Job> job, const Probe& question) {
  GW_CHECK(probes_ != nullptr);
  probes_->ask(question, [this, job, life = std::weak_ptr(life_)](Result<json::Value> answer) {
    if (life.expired()) return;
    ActionAnswer report;
    if (!answer) report.result = Error(answer.error());
    report.probe.emplace(std::get<Probe>(job->action).name, std::move(answer));
    finish(job, std::move(report));
  });
}

void ActionRunner::answered(const std::shared_ptr<Job>& job, Result<api::Version> answer, bool is_delete) {
  const bool exists = !answer && answer.error().reason == Reason::kAlreadyExists;
  if (exists && std::holds_alternative<Create>(job->action)) return check_owner(job, std::move(answer).error());
  ActionAnswer report;
  report.is_delete = is_delete;
  report.resource = job->resource;
  report.object = job->object;
  if (!answer) {
    // What is to be deleted and is not there needs nothing more.
    if (!is_delete || answer.error().reason != Reason::kNotFound) report.result = std::move(answer).error();
  } else if (answer->header != nullptr) {
    report.object = answer->header->name;
    report.uid = answer->header->uid;
    report.revision = answer->header->revision;
  }
  if (const auto* bind = std::get_if<Bind>(&job->action)) {
    report.object = bind->target.object;
    report.uid = bind->target.uid;
    report.revision = 0;
    report.leaves = bind->target.revision;
  }
  if (is_delete && report.uid.empty()) report.uid = std::get<Delete>(job->action).target.uid;
  finish(job, std::move(report));
}

void ActionRunner::check_owner(const std::shared_ptr<Job>& job, Error error) {
  const auto& create = std::get<Create>(job->action);
  ApiRequest request;
  request.resource = create.resource;
  request.object = job->object;
  client_.call(request, [this, job, error, life = std::weak_ptr(life_)](Result<api::Version> answer) {
    if (life.expired()) return;
    const auto& wanted = std::get<Create>(job->action);
    ActionAnswer report;
    report.resource = wanted.resource;
    report.object = job->object;
    if (!answer) {
      report.result = std::move(answer).error();
    } else if (!wanted.owner_uid.empty() && !is_owned_by(*answer, wanted.owner_uid)) {
      report.result = error;
    } else {
      report.uid = answer->header->uid;
      report.revision = answer->header->revision;
    }
    finish(job, std::move(report));
  });
}

void ActionRunner::finish(const std::shared_ptr<Job>& job, ActionAnswer answer) {
  --under_way_;
  if (!queue_.empty()) {
    auto next = std::move(queue_.front());
    queue_.pop_front();
    start(std::move(next));
  }
  job->done(std::move(answer));
}

}  // namespace gangway::client
