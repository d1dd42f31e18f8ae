#include "apiserver/routes.h"

#include <fmt/format.h>

#include <algorithm>

#include "apiserver/documents.h"
#include "apiserver/rest/encode.h"
#include "apiserver/status.h"
#include "apiserver/subresources/subresources.h"

namespace gangway::apiserver {
namespace {

// Groups of built-in kinds answer for every path below them; elsewhere there is nobody to say more than "no page".
void answer_no_kind(const Call& call, const Done& done) {
  if (call.registry->is_built_in_group(call.info.group)) return done(unknown_path());
  done(page_not_found());
}

void answer_no_endpoint(const Call& call, const Done& done) {
  if (!call.kind->custom) return done(unknown_path());
  done(page_not_found());
}

// Some kinds are there to be asked for only; why is worth more to who tries to make one than that it is so.
Error refusal_of(const KindInfo& kind) {
  auto error = method_not_allowed();
  if (!kind.has_verb("create"))
    error.message = fmt::format("{} cannot be made here: nothing would run them", kind.qualified_resource());
  return error;
}

}  // namespace

Routes::Routes(Resources& resources, client::NodeDialer* nodes, Reviews reviews, ServerVersion version,
               sys::Metrics& metrics)
    : resources_(resources),
      nodes_(nodes),
      documents_(std::move(version), metrics),
      reviews_(reviews),
      usage_(resources, nodes) {}

void Routes::route(const CallPtr& call, const Done& done) {
  if (!call->info.is_resource) return documents_.serve(call, done);
  auto resolved = call->registry->resolve(call->info.group, call->info.version, call->info.resource);
  if (!resolved) return answer_no_kind(*call, done);
  call->kind = resolved->kind;
  call->version = resolved->version;
  // A namespaced resource is only written within a namespace; reads of all namespaces are lists and watches.
  if (!call->kind->namespaced && !call->info.ns.empty() && call->kind->plural != "namespaces")
    return answer_no_endpoint(*call, done);
  if (call->kind->namespaced && call->info.ns.empty()) {
    if (!call->info.name.empty()) return answer_no_endpoint(*call, done);
    if (call->kind->custom && call->info.verb != "list" && call->info.verb != "watch") return done(page_not_found());
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
  if (!allowed) return done(refusal_of(*call->kind));
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
  if (!subresource && call->kind->custom) return done(not_found(*call->kind, call->info.name));
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
    return serve_from_node(resources_, nodes_, call, done);
  if (name == "proxy") return serve_node_proxy(resources_, nodes_, call, done);
  done(unknown_path());
}

void Routes::route_virtual(const CallPtr& call, const Done& done) {
  if (call->kind->group == kMetricsGroup) return usage_.serve(call, done);
  if (call->info.verb != "create" || !call->info.subresource.empty()) return done(method_not_allowed());
  if (call->kind->plural == "bindings") return serve_binding_of_body(resources_, call, done);
  reviews_.review(call, done);
}

}  // namespace gangway::apiserver
