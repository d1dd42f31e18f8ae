#include "apiserver/documents.h"

#include <fmt/format.h>

#include "apiserver/discovery.h"
#include "apiserver/openapi.h"
#include "apiserver/status.h"

namespace gangway::apiserver {
namespace {

Answer plain_text(std::string text, int status = 200) {
  Answer answer{status, JsonAnswer{sys::make_buffer(std::move(text))}};
  std::get<JsonAnswer>(answer.content).content_type = "text/plain; charset=utf-8";
  return answer;
}

// kubectl asks for version 2, in protobuf only, about kinds that version 3 does not know; all it needs to hear is that
// version 2 knows nothing of them either. {swagger: "2.0", info: {title: "Gangway", version: "see /openapi/v3"}, paths:
// {}}
Answer openapi_v2() {
  constexpr std::string_view kTitle = "Gangway";
  constexpr std::string_view kVersion = "see /openapi/v3";
  auto field = [](char tag, std::string_view bytes) {
    return std::string{tag, static_cast<char>(bytes.size())} + std::string(bytes);
  };
  auto document = field(0x0a, "2.0") + field(0x12, field(0x0a, kTitle) + field(0x12, kVersion)) + field(0x42, "");
  Answer answer{200, JsonAnswer{sys::make_buffer(std::move(document))}};
  std::get<JsonAnswer>(answer.content).content_type = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
  return answer;
}

OpenApiGroup openapi_group(const Registry& registry, std::string_view group, std::string_view version_name) {
  OpenApiGroup out{std::string(group), std::string(version_name), {}};
  for (const auto& kind : registry.kinds()) {
    const auto* version = kind->group == group ? kind->version(version_name) : nullptr;
    if (!version || !version->served) continue;
    OpenApiResource resource{
        kind->kind, kind->stored ? kind->list_kind : "", kind->plural, kind->namespaced, kind->verbs, version->schema,
        {}};
    resource.strategic_merge = !kind->custom;
    for (const auto& subresource : version->subresources) {
      bool own = subresource.name == "status";
      resource.subresources.push_back({subresource.name, subresource.verbs, subresource.group, subresource.version,
                                       own ? "" : subresource.kind, subresource.schema});
    }
    out.resources.push_back(std::move(resource));
  }
  return out;
}

}  // namespace

Answer page_not_found() {
  return plain_text("404 page not found\n", 404);
}

Documents::Documents(ServerVersion version, sys::Metrics& metrics) : version_(std::move(version)), metrics_(metrics) {}

void Documents::set_address(std::string address) {
  std::lock_guard lock(mutex_);
  address_ = std::move(address);
}

void Documents::set_status_source(std::function<json::Value()> source) {
  std::lock_guard lock(mutex_);
  status_source_ = std::move(source);
}

void Documents::add_health_check(std::string name, HealthCheck check) {
  std::lock_guard lock(mutex_);
  checks_.emplace_back(std::move(name), std::move(check));
}

void Documents::set_backup(Backup backup) {
  std::lock_guard lock(mutex_);
  backup_ = std::move(backup);
}

void Documents::serve(const CallPtr& call, const Done& done) {
  if (call->method == "POST" && call->info.path == "/gangway/backup") return make_backup(call, done);
  done(document(*call));
}

void Documents::make_backup(const CallPtr& call, const Done& done) {
  Backup backup;
  {
    std::lock_guard lock(mutex_);
    backup = backup_;
  }
  auto body = json::parse(call->body);
  if (!body) return done(body.error());
  auto path = std::string(json::string_at(*body, {"path"}));
  if (!backup || !path.starts_with("/"))
    return done(bad_request("path: must be an absolute path on the server's machine"));
  backup(path, [call, done](Result<void> made) {
    call->here.post([done, made = std::move(made)] {
      if (!made) return done(made.error());
      done(json_answer(json::Object{{"status", "Success"}}));
    });
  });
}

Result<Answer> Documents::document(const Call& call) {
  if (call.method != "GET" && call.method != "HEAD") return method_not_allowed();
  auto parts = sys::path_segments(call.info.path);
  if (parts.empty()) {
    json::Array paths;
    for (auto path :
         {"/api", "/api/v1", "/apis", "/healthz", "/livez", "/metrics", "/openapi/v3", "/readyz", "/version"})
      paths.emplace_back(path);
    return json_answer(json::Object{{"paths", std::move(paths)}});
  }
  auto first = parts.front();
  if (first == "healthz" || first == "livez" || first == "readyz") return health(call, first);
  if (first == "version" && parts.size() == 1) {
    return json_answer(json::Object{{"major", "1"},
                                    {"minor", "33"},
                                    {"emulationMajor", "1"},
                                    {"emulationMinor", "33"},
                                    {"minCompatibilityMajor", "1"},
                                    {"minCompatibilityMinor", "32"},
                                    {"gitVersion", version_.git_version},
                                    {"gitCommit", version_.git_commit},
                                    {"gitTreeState", "clean"},
                                    {"buildDate", version_.build_date},
                                    {"goVersion", "none"},
                                    {"compiler", "gcc"},
                                    {"platform", "linux/amd64"}});
  }
  if (first == "metrics" && parts.size() == 1) return plain_text(metrics_.expose());
  if (first == "gangway" && parts.size() == 2 && parts[1] == "status") return status();
  if (first == "openapi") return openapi(call);
  if ((first == "api" || first == "apis") && !call.info.path.starts_with("//")) return discovery(call);
  return page_not_found();
}

Result<Answer> Documents::status() {
  std::function<json::Value()> source;
  {
    std::lock_guard lock(mutex_);
    source = status_source_;
  }
  if (!source) return unknown_path();
  return json_answer(source());
}

Result<Answer> Documents::health(const Call& call, std::string_view endpoint) {
  auto parts = sys::path_segments(call.info.path);
  std::vector<std::pair<std::string, HealthCheck>> checks{{"ping", [] { return std::string(); }}};
  {
    std::lock_guard lock(mutex_);
    checks.insert(checks.end(), checks_.begin(), checks_.end());
  }
  std::string report;
  bool healthy = true;
  bool found = parts.size() < 2;
  for (const auto& [name, check] : checks) {
    if (parts.size() > 1 && parts[1] != name) continue;
    found = true;
    auto problem = check();
    healthy &= problem.empty();
    report += problem.empty() ? fmt::format("[+]{} ok\n", name) : fmt::format("[-]{} failed: {}\n", name, problem);
  }
  if (!found) return page_not_found();
  if (!healthy) return plain_text(report + fmt::format("{} check failed\n", endpoint), 500);
  if (call.query.has("verbose")) return plain_text(report + fmt::format("{} check passed\n", endpoint));
  return plain_text("ok");
}

Result<sys::Buffer> Documents::cached(const Registry& registry, const std::string& key,
                                      const std::function<Result<std::string>()>& make) {
  std::lock_guard lock(mutex_);
  if (cache_generation_ != registry.generation()) {
    cache_.clear();
    cache_generation_ = registry.generation();
  }
  if (auto at = cache_.find(key); at != cache_.end()) return at->second;
  GW_TRY(auto text, make());
  return cache_[key] = sys::make_buffer(std::move(text));
}

Result<Answer> Documents::discovery(const Call& call) {
  auto parts = sys::path_segments(call.info.path);
  const auto& registry = *call.registry;
  bool core = parts.front() == "api";
  const auto& version = call.wanted.aggregated_discovery;
  auto make = [&]() -> Result<std::string> {
    if (parts.size() == 1) {
      if (!version.empty()) return aggregated(registry, core, version);
      return core ? api_versions(address_) : group_list(registry);
    }
    if (core) return parts.size() == 2 ? resource_list(registry, "", parts[1]) : Result<std::string>(unknown_path());
    if (parts.size() == 2) return group_document(registry, parts[1]);
    return parts.size() == 3 ? resource_list(registry, parts[1], parts[2]) : Result<std::string>(unknown_path());
  };
  bool is_aggregated = parts.size() == 1 && !version.empty();
  auto bytes = cached(registry, call.info.path + (is_aggregated ? "?" + version : ""), make);
  if (!bytes && !core && !registry.is_built_in_group(parts[1])) return page_not_found();
  if (!bytes) return bytes.error();
  Answer answer{200, JsonAnswer{*bytes}};
  if (is_aggregated) {
    std::get<JsonAnswer>(answer.content).content_type =
        fmt::format("application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList", version);
  }
  return answer;
}

Result<sys::Buffer> Documents::openapi_of(const Registry& registry, const std::string& group,
                                          const std::string& version) {
  return cached(registry, "openapi " + group_version(group, version), [&]() -> Result<std::string> {
    auto contents = openapi_group(registry, group, version);
    if (contents.resources.empty()) return unknown_path();
    return openapi_document(contents, registry.shared_schemas());
  });
}

Result<Answer> Documents::openapi(const Call& call) {
  const auto& registry = *call.registry;
  auto parts = sys::path_segments(call.info.path);
  if (parts.size() == 2 && parts[1] == "v2") return openapi_v2();
  if (parts.size() < 2 || parts[1] != "v3") return unknown_path();
  if (parts.size() == 4 && parts[2] == "api") {
    GW_TRY(auto bytes, openapi_of(registry, "", std::string(parts[3])));
    return Answer{200, JsonAnswer{bytes}};
  }
  if (parts.size() == 5 && parts[2] == "apis") {
    GW_TRY(auto bytes, openapi_of(registry, std::string(parts[3]), std::string(parts[4])));
    return Answer{200, JsonAnswer{bytes}};
  }
  if (parts.size() != 2) return unknown_path();
  std::map<std::string, std::pair<std::string, std::string>> groups;
  for (const auto& kind : registry.kinds()) {
    for (const auto& version : kind->versions) {
      if (version.served) groups[openapi_path(kind->group, version.name)] = {kind->group, version.name};
    }
  }
  std::vector<std::pair<std::string, std::string>> documents;
  for (const auto& [path, name] : groups) {
    GW_TRY(auto bytes, openapi_of(registry, name.first, name.second));
    documents.emplace_back(path, openapi_hash(*bytes));
  }
  return Answer{200, JsonAnswer{sys::make_buffer(openapi_index(documents))}};
}

}  // namespace gangway::apiserver
