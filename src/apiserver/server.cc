#include "apiserver/server.h"

#include <fmt/format.h>

#include "apiserver/auth/node_restriction.h"
#include "apiserver/rest/encode.h"
#include "apiserver/routes.h"
#include "apiserver/status.h"
#include "apiserver/strategies/custom_resource_definition.h"
#include "apiserver/subresources/subresources.h"
#include "sys/log.h"

namespace gangway::apiserver {
namespace {

const std::vector<api::ResourceName> kRbacResources{
    "roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io",
    "clusterroles.rbac.authorization.k8s.io", "clusterrolebindings.rbac.authorization.k8s.io"};

std::shared_ptr<const Registry> registry_of(const std::shared_ptr<const Registry>& builtin, const store::Root& root) {
  std::vector<json::Value> definitions;
  for (const auto& version : root.objects("customresourcedefinitions.apiextensions.k8s.io")) {
    auto definition = json::parse(*version.json, {.max_bytes = version.json->size() + 1, .max_depth = 256});
    if (definition && is_established(*definition)) definitions.push_back(std::move(*definition));
  }
  std::vector<const json::Value*> pointers;
  for (const auto& definition : definitions) pointers.push_back(&definition);
  auto registry = builtin->with_definitions(pointers);
  if (registry) return *registry;
  // Definitions are checked when they are written; one that still cannot be loaded must not take the others down.
  sys::log_error("custom resource definitions could not be loaded", {{"error", registry.error().message}});
  return builtin;
}

}  // namespace

ApiServer::ApiServer(Parts parts)
    : parts_(std::move(parts)),
      registry_({"customresourcedefinitions.apiextensions.k8s.io"},
                [builtin = parts_.builtin_kinds](const store::Root& root) { return registry_of(builtin, root); }),
      policy_(kRbacResources, [](const store::Root& root) { return RbacPolicy::of(root); }),
      resources_(parts_.store, parts_.api_loop,
                 PrepareEnv{parts_.entropy, [this] { return policy_.get(*parts_.store.root()); }}),
      routes_(std::make_unique<Routes>(
          resources_, parts_.nodes,
          Reviews({parts_.store, parts_.authenticator, parts_.tokens, policy_, parts_.entropy}), parts_.version,
          parts_.metrics)) {}

ApiServer::~ApiServer() = default;

std::shared_ptr<const Registry> ApiServer::registry() {
  return registry_.get(*parts_.store.root());
}

Documents& ApiServer::documents() {
  return routes_->documents();
}

void ApiServer::handle(sys::HttpRequest request, sys::EventLoop& here, sys::Respond respond) {
  auto call = std::make_shared<Call>(here);
  auto fail = [&](const Error& error) { respond(encode_error(call.get(), error)); };
  auto target = sys::parse_target(request.target);
  if (!target) return fail(target.error());
  call->info = read_request_info(request.method, *target);
  call->query = std::move(target->query);
  call->content_type = std::string(request.headers.get("Content-Type"));
  call->user_agent = std::string(request.headers.get("User-Agent"));
  call->body = std::move(request.body);
  call->method = request.method;
  if (!request.headers.get("Upgrade").empty()) call->upgrade = request.headers;

  auto user = parts_.authenticator.authenticate(request, *parts_.store.root(), parts_.clock.wall());
  if (!user) return fail(user.error());
  call->user = std::move(*user);
  auto policy = policy_.get(*parts_.store.root());
  auto acting = impersonate(request.headers, call->user, *policy);
  if (!acting) return fail(acting.error());
  call->user = std::move(*acting);

  auto wanted = negotiate(request.headers.get("Accept"));
  // OpenAPI has formats of its own, and one of them is all that kubectl takes. What nodes answer has any.
  const bool any_format = call->info.path.starts_with("/openapi/") || is_from_node(call->info);
  if (!wanted && any_format) wanted = Wanted{};
  if (!wanted) return fail(wanted.error());
  call->wanted = std::move(*wanted);
  submit(call, [call, respond = std::move(respond)](Result<Answer> answer) {
    respond(answer ? encode_answer(*call, std::move(*answer)) : encode_error(call.get(), answer.error()));
  });
}

void ApiServer::submit(const CallPtr& call, const Done& done) {
  call->now = parts_.clock.wall();
  call->registry = registry();
  auto attributes = attributes_of(*call);
  auto decision = authorize(attributes);
  if (!decision.allowed) return done(forbidden(attributes, decision.reason));
  flow_.admit(attributes, call->here, [this, call, done](FlowControl::Admission seat) {
    if (!seat) return done(seat.error());
    // A watch gives its seat back once it has started, since it may last for hours.
    routes_->route(call, [done, seat = std::move(*seat)](Result<Answer> answer) { done(std::move(answer)); });
  });
}

Decision ApiServer::authorize(const Attributes& attributes) {
  auto root = parts_.store.root();
  auto policy = policy_.get(*root);
  if (node_of(attributes.user)) {
    const auto* role = policy->find_role({"ClusterRole", "system:node"}, "");
    StoreNodeFacts facts(*root);
    auto decision = authorize_node(attributes, role ? role->rules : std::vector<PolicyRule>(), facts);
    if (decision && decision->allowed) return *decision;
  }
  return policy->authorize(attributes);
}

}  // namespace gangway::apiserver
