#include "sim/user.h"

#include <utility>

#include "client/resource.h"

namespace gangway::sim {
namespace {

// The server did not judge the request; another try may do better.
bool says_nothing(Reason reason) {
  return reason == Reason::kTooManyRequests || reason == Reason::kInternalError || reason == Reason::kTimeout ||
         reason == Reason::kServiceUnavailable;
}

client::ApiRequest request_to(client::Method method, const client::Resource& resource, api::ObjectName name) {
  client::ApiRequest request;
  request.method = method;
  request.resource = resource;
  request.object = std::move(name);
  request.field_manager = "kubectl";
  return request;
}

}  // namespace

User::User(Wire& wire, Gate& gate, std::string name, std::function<void(std::string)> on_refused)
    : name_(std::move(name)),
      random_(wire.simulation().random().fork(name_)),
      process_(wire.simulation(), name_),
      loop_(process_.add_loop("main")),
      client_(wire, gate, process_, loop_, {"admin", "", {"system:masters", "system:authenticated"}, {}}),
      on_refused_(std::move(on_refused)) {
  client_.never_land_late();
}

void User::wait(Duration time, sys::Task then) {
  loop_.run_after(time, std::move(then));
}

void User::insist(client::ApiRequest request, Answered answered) {
  client_.call(request, [this, request, answered = std::move(answered)](Result<api::Version> answer) {
    const bool injected = !answer && answer.error().message.starts_with("injected");
    if (answer || (!injected && !says_nothing(answer.error().reason))) return answered(std::move(answer));
    wait(random_.between(std::chrono::milliseconds(200), std::chrono::seconds(4)),
         [this, request, answered] { insist(request, answered); });
  });
}

void User::refused(const client::ApiRequest& request, const Error& error) {
  on_refused_(name_ + " was refused " + client::describe(request.resource, request.object) + ": " + error.message);
}

void User::create(const client::Resource& resource, json::Value object, sys::Task then) {
  auto request = request_to(client::Method::kCreate, resource,
                            {std::string(json::string_at(object, {"metadata", "namespace"})), ""});
  request.body = json::serialize(object);
  insist(request, [this, request, then = std::move(then)](const Result<api::Version>& answer) {
    if (!answer && answer.error().reason != Reason::kAlreadyExists) return refused(request, answer.error());
    then();
  });
}

void User::create_namespace(const std::string& ns, sys::Task then) {
  create(client::resources::kNamespaces, json::Object{{"metadata", json::Object{{"name", ns}}}},
         [this, ns, then = std::move(then)] { await_account(ns, then); });
}

void User::await_account(const std::string& ns, sys::Task then) {
  read(client::resources::kServiceAccounts, {ns, "default"}, [this, ns, then](const api::Version& account) {
    if (account) return then();
    wait(std::chrono::milliseconds(500), [this, ns, then] { await_account(ns, then); });
  });
}

void User::remove(const client::Resource& resource, api::ObjectName name, const json::Value& options, sys::Task then) {
  remove_and_see(resource, std::move(name), options,
                 [then = std::move(then)](const std::optional<api::Version>&) { then(); });
}

void User::remove_and_see(const client::Resource& resource, api::ObjectName name, const json::Value& options,
                          std::function<void(const std::optional<api::Version>&)> then) {
  auto request = request_to(client::Method::kDelete, resource, std::move(name));
  request.body = json::serialize(options);
  insist(request, [this, request, then = std::move(then)](const Result<api::Version>& answer) {
    if (answer) return then(*answer);
    // A namespace that is on its way out says so.
    const auto reason = answer.error().reason;
    if (reason == Reason::kNotFound || reason == Reason::kConflict) return then(std::nullopt);
    refused(request, answer.error());
  });
}

void User::read(const client::Resource& resource, api::ObjectName name, std::function<void(const api::Version&)> then) {
  insist(request_to(client::Method::kGet, resource, std::move(name)),
         [then = std::move(then)](const Result<api::Version>& answer) { then(answer ? *answer : api::Version()); });
}

void User::modify(const client::Resource& resource, api::ObjectName name, std::function<void(json::Value&)> edit,
                  sys::Task then) {
  read(resource, name, [=, this](const api::Version& found) {
    if (!found) return then();
    auto object = json::parse(*found.json);
    edit(*object);
    auto request = request_to(client::Method::kUpdate, resource, name);
    request.body = json::serialize(*object);
    insist(request, [=, this](const Result<api::Version>& written) {
      if (!written && written.error().reason == Reason::kConflict) return modify(resource, name, edit, then);
      if (!written && written.error().reason != Reason::kNotFound) return refused(request, written.error());
      then();
    });
  });
}

}  // namespace gangway::sim
