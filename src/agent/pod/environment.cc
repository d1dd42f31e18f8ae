#include "agent/pod/environment.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/pod/machine.h"
#include "base/quote.h"

namespace gangway::agent {
namespace {

// "my-db" as the stem of variables: "MY_DB".
std::string variable_stem(std::string_view service) {
  std::string stem(service);
  for (char& c : stem) {
    if (c == '-') c = '_';
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return stem;
}

std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// The variables by which containers found services before there were names for them, and many still do.
void add_service(const ServiceAddress& service, Environment& out) {
  if (service.ports.empty()) return;
  const std::string stem = variable_stem(service.name);
  out[stem + "_SERVICE_HOST"] = service.address;
  out[stem + "_SERVICE_PORT"] = std::to_string(service.ports.front().number);
  bool first = true;
  for (const ServiceAddress::Port& port : service.ports) {
    const std::string protocol = port.protocol.empty() ? "TCP" : port.protocol;
    const std::string url = fmt::format("{}://{}:{}", lower(protocol), service.address, port.number);
    if (!port.name.empty()) out[stem + "_SERVICE_PORT_" + variable_stem(port.name)] = std::to_string(port.number);
    if (std::exchange(first, false)) out[stem + "_PORT"] = url;
    const std::string one = fmt::format("{}_PORT_{}_{}", stem, port.number, protocol);
    out[one] = url;
    out[one + "_PROTO"] = lower(protocol);
    out[one + "_PORT"] = std::to_string(port.number);
    out[one + "_ADDR"] = service.address;
  }
}

Environment service_environment(const ResolveView& view) {
  Environment out;
  ServiceAddress api{"kubernetes", view.node.api_host, {{"https", view.node.api_port, "TCP"}}};
  if (view.pod.service_links) {
    for (const ServiceAddress& service : view.references.services(view.pod.pod.ns)) add_service(service, out);
  }
  for (const ServiceAddress& service : view.references.services("default")) {
    if (service.name == "kubernetes") api = service;
  }
  if (!api.address.empty()) add_service(api, out);
  return out;
}

Unresolved unknown(const std::string& error) {
  return {error.empty(), error};
}

std::optional<Unresolved> add_source(const ResolveView& view, const EnvironmentSource& source, Environment& out) {
  using State = Looked<KeyValues>::State;
  const auto found = view.references.keys(source.in, view.pod.pod.ns, source.name);
  if (found.state == State::kUnknown) return unknown(found.error);
  if (found.state == State::kMissing) {
    if (source.optional) return std::nullopt;
    return Unresolved{false, not_found_text(source.in, source.name)};
  }
  for (const auto& [key, value] : *found.value) out[source.prefix + key] = value;
  return std::nullopt;
}

// None for an optional key that is not there: the variable is left out.
Resolved<std::optional<std::string>> key_value(const ResolveView& view, const KeyReference& reference) {
  using State = Looked<KeyValues>::State;
  const auto found = view.references.keys(reference.in, view.pod.pod.ns, reference.name);
  if (found.state == State::kUnknown) return unknown(found.error);
  if (found.state == State::kMissing) {
    if (reference.optional) return std::optional<std::string>();
    return Unresolved{false, not_found_text(reference.in, reference.name)};
  }
  const auto at = found.value->find(reference.key);
  if (at != found.value->end()) return std::optional(at->second);
  if (reference.optional) return std::optional<std::string>();
  const char* kind = reference.in == KeyHolder::kSecret ? "Secret" : "ConfigMap";
  return Unresolved{
      false, fmt::format("couldn't find key {} in {} {}/{}", reference.key, kind, view.pod.pod.ns, reference.name)};
}

Resolved<std::optional<std::string>> variable_value(const ResolveView& view, const PodContainer& container,
                                                    const EnvironmentVariable& variable, const Environment& known) {
  if (const auto* text = std::get_if<std::string>(&variable.value)) return std::optional(expand(*text, known));
  if (const auto* field = std::get_if<FieldReference>(&variable.value))
    return std::optional(field_value(view, field->path));
  if (const auto* resource = std::get_if<ResourceReference>(&variable.value))
    return std::optional(resource_value(view, *resource, container.name));
  return key_value(view, std::get<KeyReference>(variable.value));
}

// Containers of a node with GPUs see their own and nothing else, those that asked for none see none.
void add_gpus(const ResolveView& view, const PodContainer& container, Environment& out) {
  if (view.node.gpus == 0) return;
  const auto own = view.record.gpus.find(container.name);
  const bool has_some = own != view.record.gpus.end() && !own->second.empty();
  const std::string indexes = has_some ? fmt::format("{}", fmt::join(own->second, ",")) : std::string();
  out["NVIDIA_VISIBLE_DEVICES"] = has_some ? indexes : "void";
  out["CUDA_VISIBLE_DEVICES"] = indexes;
}

std::string lines_of(const std::map<std::string, std::string>& map) {
  std::string text;
  for (const auto& [key, value] : map) text += (text.empty() ? "" : "\n") + key + "=" + quoted(value);
  return text;
}

// "metadata.labels['app']" → the value of "app" in `map`, where `path` begins with `prefix`.
std::optional<std::string> subscript(std::string_view path, std::string_view prefix,
                                     const std::map<std::string, std::string>& map) {
  if (!path.starts_with(prefix)) return std::nullopt;
  path.remove_prefix(prefix.size());
  if (path.empty()) return lines_of(map);
  if (path.size() < 4 || !path.starts_with("['") || !path.ends_with("']")) return std::nullopt;
  const auto at = map.find(std::string(path.substr(2, path.size() - 4)));
  return at == map.end() ? std::string() : at->second;
}

std::int64_t divided_up(std::int64_t amount, std::int64_t by) {
  return by <= 1 ? amount : amount / by + (amount % by != 0 ? 1 : 0);
}

}  // namespace

std::string not_found_text(KeyHolder in, std::string_view name) {
  return fmt::format("{} {} not found", in == KeyHolder::kSecret ? "secret" : "configmap", quoted(name));
}

std::string expand(std::string_view text, const Environment& environment) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '$' || at + 1 == text.size()) {
      out += text[at];
      continue;
    }
    const char next = text[at + 1];
    const std::size_t close = next == '(' ? text.find(')', at) : std::string_view::npos;
    if (next == '$') {
      out += '$';
      ++at;
    } else if (close != std::string_view::npos) {
      const auto name = text.substr(at + 2, close - at - 2);
      const auto found = environment.find(std::string(name));
      out += found != environment.end() ? found->second : std::string(text.substr(at, close - at + 1));
      at = close;
    } else {
      out += '$';
    }
  }
  return out;
}

std::vector<std::string> expand_all(const std::vector<std::string>& texts, const Environment& environment) {
  std::vector<std::string> out;
  for (const std::string& text : texts) out.push_back(expand(text, environment));
  return out;
}

std::string field_value(const ResolveView& view, std::string_view path) {
  const PodSpec& pod = view.pod;
  const auto& addresses = view.record.addresses;
  if (path == "metadata.name") return pod.pod.name;
  if (path == "metadata.namespace") return pod.pod.ns;
  if (path == "metadata.uid") return pod.pod.uid;
  if (path == "spec.nodeName") return pod.pod.node;
  if (path == "spec.serviceAccountName") return pod.service_account;
  if (path == "status.hostIP" || path == "status.hostIPs") return view.node.address;
  if (path == "status.podIP") return addresses.empty() ? std::string() : addresses.front();
  if (path == "status.podIPs") return fmt::format("{}", fmt::join(addresses, ","));
  if (auto label = subscript(path, "metadata.labels", pod.labels)) return *label;
  if (auto annotation = subscript(path, "metadata.annotations", pod.annotations)) return *annotation;
  return {};
}

std::string resource_value(const ResolveView& view, const ResourceReference& reference, const std::string& container) {
  const PodContainer* found = view.pod.find(reference.container.empty() ? container : reference.container);
  const std::size_t dot = reference.resource.find('.');
  if (found == nullptr || dot == std::string::npos) return "0";
  const bool limit = reference.resource.substr(0, dot) == "limits";
  const std::string name = reference.resource.substr(dot + 1);
  const auto& amounts = limit ? found->limits : found->requests;
  std::int64_t amount = 0;
  if (const auto at = amounts.find(name); at != amounts.end()) {
    amount = api::amount_of(name, at->second);
  } else if (const auto room = view.node.allocatable.find(name); limit && room != view.node.allocatable.end()) {
    amount = room->second;
  }
  const Quantity one = Quantity::of(1);
  const Quantity& divisor = reference.divisor.is_zero() ? one : reference.divisor;
  return std::to_string(divided_up(amount, api::amount_of(name, divisor)));
}

Resolved<Environment> resolve_environment(const ResolveView& view, const PodContainer& container) {
  Environment out = service_environment(view);
  for (const EnvironmentSource& source : container.environment_sources) {
    if (auto problem = add_source(view, source, out)) return *problem;
  }
  for (const EnvironmentVariable& variable : container.environment) {
    auto value = variable_value(view, container, variable, out);
    if (auto* problem = std::get_if<Unresolved>(&value)) return std::move(*problem);
    if (auto& text = std::get<0>(value)) out[variable.name] = std::move(*text);
  }
  out.try_emplace("HOSTNAME", view.pod.hostname);
  add_gpus(view, container, out);
  return out;
}

}  // namespace gangway::agent
