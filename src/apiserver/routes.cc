#include "apiserver/routes.h"

#include <fmt/format.h>

#include <algorithm>

#include "apiserver/rest/encode.h"
#include "apiserver/status.h"
#include "apiserver/subresources/subresources.h"

namespace gangway::apiserver {
namespace {

Error no_agent(const Call& call, std::string_view node) {
  Error error;
  error.reason = Reason::kServiceUnavailable;
  error.message = fmt::format("pods/{} of \"{}\" cannot be reached: node \"{}\" runs no agent", call.info.subresource,
                              call.info.name, node);
  return error;
}

// A pod that is nowhere has said nothing yet; there is nothing to run a command in.
Result<Answer> without_node(const Call& call) {
  if (call.info.subresource != "log")
    return bad_request(fmt::format("pod {} does not have a host assigned", call.info.name));
  Answer nothing{200, JsonAnswer{sys::make_buffer("")}};
  std::get<JsonAnswer>(nothing.content).content_type = "text/plain";
  return nothing;
}

// Log, exec, attach and port-forward are the node agent's to answer; a pod without a node has none to ask.
void serve_from_node(Resources& resources, const CallPtr& call, const Done& done) {
  resources.get(call, [call, done](Result<Answer> answer) {
    if (!answer) return done(std::move(answer));
    auto node = std::get<ObjectAnswer>(answer->content).object.header->field("spec.nodeName");
    if (node.empty()) return done(without_node(*call));
    done(no_agent(*call, node));
  });
}

}  // namespace

Routes::Routes(Resources& resources, Reviews reviews, ServerVersion version, sys::Metrics& metrics)
    : resources_(resources), documents_(std::move(version), metrics), reviews_(reviews) {}

void Routes::route(const CallPtr& call, const Done& done) {
  if (!call->info.is_resource) return documents_.serve(call, done);
  auto resolved = call->registry->resolve(call->info.group, call->info.version, call->info.resource);
  if (!resolved) return done(unknown_path());
  call->kind = resolved->kind;
  call->version = resolved->version;
  // A namespaced resource is only written within a namespace; reads of all namespaces are lists and watches.
  if (!call->kind->namespaced && !call->info.ns.empty() && call->kind->plural != "namespaces")
    return done(unknown_path());
  if (call->kind->namespaced && call->info.ns.empty()) {
    if (!call->info.name.empty()) return done(unknown_path());
    if (call->info.verb == "deletecollection") return done(method_not_allowed());
  }
  if (!call->version->deprecation_warning.empty()) call->warnings.push_back(call->version->deprecation_warning);
  if (!call->kind->stored) return route_virtual(call, done);
  if (!call->info.subresource.empty()) return route_subresource(call, done);
  route_resource(call, done);
}

void Routes::route_resource(const CallPtr& call, const Done& done) {
  const auto& verb = call->info.verb;
  bool collection = call->info.name.empty();
  bool allowed = call->kind->has_verb(verb) && !(verb == "create" && !collection) &&
                 !((verb == "update" || verb == "patch") && collection);
  if (!allowed) return done(method_not_allowed());
  if (verb == "create" && call->kind->namespaced && call->info.ns.empty()) return done(method_not_allowed());
  if (verb == "get") return resources_.get(call, done);
  if (verb == "list") return resources_.list(call, done);
  if (verb == "watch") return resources_.watch(call, done);
  if (verb == "create") return resources_.create(call, done);
  if (verb == "update") return resources_.update(call, done);
  if (verb == "patch") return resources_.patch(call, done);
  if (verb == "delete") return resources_.remove(call, done);
  resources_.remove_collection(call, done);
}

void Routes::route_subresource(const CallPtr& call, const Done& done) {
  const auto* subresource = call->version->subresource(call->info.subresource);
  if (!subresource) return done(unknown_path());
  const auto& verb = call->info.verb;
  if (std::find(subresource->verbs.begin(), subresource->verbs.end(), verb) == subresource->verbs.end()) {
    return done(method_not_allowed());
  }
  const auto& name = subresource->name;
  if (name == "status") {
    if (verb == "get") return resources_.get(call, done);
    if (verb == "update") return resources_.update(call, done);
    return resources_.patch(call, done);
  }
  if (name == "scale") return serve_scale(resources_, call, done);
  if (name == "binding") return serve_binding(resources_, call, done);
  if (name == "eviction") return serve_eviction(resources_, call, done);
  if (name == "finalize") return serve_finalize(resources_, call, done);
  if (name == "token") return reviews_.create_token(call, done);
  if (name == "log" || name == "exec" || name == "attach" || name == "portforward")
    return serve_from_node(resources_, call, done);
  done(unknown_path());
}

void Routes::route_virtual(const CallPtr& call, const Done& done) {
  if (call->info.verb != "create" || !call->info.subresource.empty()) return done(method_not_allowed());
  if (call->kind->plural == "bindings") return serve_binding_of_body(resources_, call, done);
  reviews_.review(call, done);
}

}  // namespace gangway::apiserver
