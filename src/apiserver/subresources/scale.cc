#include <fmt/format.h>

#include <limits>

#include "api/selector.h"
#include "apiserver/rest/decode.h"
#include "apiserver/rest/patch.h"
#include "apiserver/status.h"
#include "apiserver/subresources/subresources.h"
#include "json/json_patch.h"
#include "json/merge_patch.h"

namespace gangway::apiserver {
namespace {

const json::Value* walk(const json::Value& root, const std::vector<std::string>& path) {
  const auto* at = &root;
  for (const auto& step : path) {
    const auto* object = at->if_object();
    at = object ? object->if_contains(step) : nullptr;
    if (!at) return nullptr;
  }
  return path.empty() ? nullptr : at;
}

std::int64_t number_at(const json::Value& object, const std::vector<std::string>& path) {
  const auto* value = walk(object, path);
  return value && value->is_int64() ? value->get_int64() : 0;
}

json::Value& make_way(json::Value& object, const std::vector<std::string>& path) {
  auto* at = &object;
  for (const auto& step : path) {
    if (!at->is_object()) *at = json::Object();
    at = &at->get_object()[step];
  }
  return *at;
}

std::string selector_of(const json::Value& object, const ScalePaths& paths) {
  if (const auto* text = walk(object, paths.selector_text); text && text->is_string())
    return std::string(text->get_string());
  const auto* selector = walk(object, paths.selector_object);
  if (!selector) return "";
  auto parsed = api::read_label_selector(*selector);
  return parsed ? parsed->to_string() : "";
}

json::Value scale_of(const json::Value& object, const ScalePaths& paths) {
  json::Object metadata;
  for (auto field : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const auto* value = json::find(object, {"metadata", field})) metadata[field] = *value;
  }
  json::Object spec;
  if (auto replicas = number_at(object, paths.spec_replicas); replicas != 0) spec["replicas"] = replicas;
  json::Object status{{"replicas", number_at(object, paths.status_replicas)}};
  if (auto selector = selector_of(object, paths); !selector.empty()) status["selector"] = selector;
  return json::Object{{"kind", "Scale"},
                      {"apiVersion", "autoscaling/v1"},
                      {"metadata", std::move(metadata)},
                      {"spec", std::move(spec)},
                      {"status", std::move(status)}};
}

Result<std::int64_t> wanted_replicas(const Call& call, const json::Value& scale) {
  const auto* replicas = json::find(scale, {"spec", "replicas"});
  if (!replicas || replicas->is_null()) return 0;
  if (!replicas->is_int64() || replicas->get_int64() > std::numeric_limits<std::int32_t>::max()) {
    return bad_request("Scale in version \"v1\" cannot be handled as a Scale: spec.replicas: must be a 32-bit integer");
  }
  if (replicas->get_int64() < 0) {
    return invalid("autoscaling", "Scale", call.info.name,
                   {Cause{"FieldValueInvalid",
                          fmt::format("Invalid value: {}: must be greater than or equal to 0", replicas->get_int64()),
                          "spec.replicas"}});
  }
  return replicas->get_int64();
}

Result<void> check_revision(const Call& call, const json::Value& scale, const json::Value& object) {
  auto revision = json::string_at(scale, {"metadata", "resourceVersion"});
  if (revision.empty() || revision == json::string_at(object, {"metadata", "resourceVersion"})) return {};
  return conflict(*call.kind, call.info.name,
                  "the object has been modified; please apply your changes to the latest version and try again");
}

void answer_with_scale(const CallPtr& call, const Done& done, Result<Answer> answer) {
  if (!answer) return done(std::move(answer));
  auto object = open_version(*call, std::get<ObjectAnswer>(answer->content).object);
  if (!object) return done(object.error());
  done(json_answer(scale_of(*object, *call->version->scale)));
}

}  // namespace

void serve_scale(Resources& resources, const CallPtr& call, const Done& done) {
  auto finish = [call, done](Result<Answer> answer) { answer_with_scale(call, done, std::move(answer)); };
  if (call->info.verb == "get") return resources.get(call, finish);
  auto options = read_write_options(*call);
  if (!options) return done(options.error());

  std::function<Result<json::Value>(const json::Value& scale)> change;
  if (call->info.verb == "patch") {
    auto patch = read_patch(*call, *options);
    if (!patch) return done(patch.error());
    change = [patch = std::move(*patch)](const json::Value& scale) -> Result<json::Value> {
      if (patch.type == PatchType::kJson) return json::apply_json_patch(scale, patch.body);
      auto patched = scale;
      json::apply_merge_patch(patched, patch.body);
      return patched;
    };
  } else {
    auto body = read_body(*call, "io.k8s.api.autoscaling.v1.Scale");
    if (!body) return done(body.error());
    if (auto kind = json::string_at(body->value, {"kind"});
        !body->value.is_object() || (!kind.empty() && kind != "Scale")) {
      return done(bad_request(fmt::format("the body must be a Scale (got kind \"{}\")", kind)));
    }
    change = [scale = std::move(body->value)](const json::Value&) -> Result<json::Value> { return scale; };
  }
  resources.edit(
      call, *options,
      [call, change](const json::Value& old) -> Result<Edited> {
        const auto& paths = *call->version->scale;
        GW_TRY(auto scale, change(scale_of(old, paths)));
        GW_CHECKED(check_revision(*call, scale, old));
        GW_TRY(auto replicas, wanted_replicas(*call, scale));
        auto object = old;
        make_way(object, paths.spec_replicas) = replicas;
        return Edited{std::move(object), false};
      },
      finish);
}

}  // namespace gangway::apiserver
