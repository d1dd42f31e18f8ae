#include "apiserver/openapi.h"

#include <gtest/gtest.h>

#include "apiserver/embedded_kinds.h"
#include "json/schema_decode.h"
#include "json/schema_default.h"
#include "json/schema_validate.h"

namespace gangway::apiserver {
namespace {

using json::Object;
using json::Value;

Value json_of(std::string_view text) {
  auto value = json::parse(text, {.max_bytes = std::size_t{64} << 20, .max_depth = 128});
  EXPECT_TRUE(value) << value.error().message;
  return value ? *value : Value();
}

std::vector<std::string> strings_of(const Value& list) {
  std::vector<std::string> out;
  for (const Value& item : list.as_array()) out.emplace_back(item.as_string());
  return out;
}

// The embedded kinds, loaded once for all tests of this file.
class EmbeddedKinds : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    document_ = new Value(json_of(embedded_kinds()));
    set_ = new json::SchemaSet();
    auto added = set_->add_definitions(document_->at("definitions").as_object());
    ASSERT_TRUE(added) << added.error().message;
  }
  static void TearDownTestSuite() {
    delete set_;
    delete document_;
  }

  static OpenApiGroup group_of(std::string_view group, std::string_view version) {
    OpenApiGroup out{std::string(group), std::string(version), {}};
    for (const Value& kind : document_->at("kinds").as_array()) {
      if (std::string_view(kind.at("group").as_string()) != group) continue;
      for (const Value& served : kind.at("versions").as_array()) {
        if (std::string_view(served.at("name").as_string()) == version) out.resources.push_back(resource(kind, served));
      }
    }
    return out;
  }

  static OpenApiResource resource(const Value& kind, const Value& served) {
    OpenApiResource out;
    out.kind = kind.at("kind").as_string();
    out.list_kind = kind.at("listKind").as_string();
    out.plural = kind.at("plural").as_string();
    out.namespaced = std::string_view(kind.at("scope").as_string()) == "Namespaced";
    out.verbs = strings_of(kind.at("verbs"));
    auto schema = set_->load(served.at("schema"));
    EXPECT_TRUE(schema) << schema.error().message;
    out.schema = schema ? *schema : nullptr;
    for (const Value& given : served.at("subresources").as_array()) {
      OpenApiSubresource subresource;
      subresource.name = given.at("name").as_string();
      if (const Value* verbs = given.as_object().if_contains("verbs")) {
        subresource.verbs = strings_of(*verbs);
      } else {
        subresource.verbs = {"get", "patch", "update"};
      }
      out.subresources.push_back(std::move(subresource));
    }
    return out;
  }

  static const json::Schema& definition(std::string_view name) {
    const json::Schema* schema = set_->definition(name);
    EXPECT_NE(schema, nullptr) << name;
    return *schema;
  }

  static Value* document_;
  static json::SchemaSet* set_;
};

Value* EmbeddedKinds::document_ = nullptr;
json::SchemaSet* EmbeddedKinds::set_ = nullptr;

TEST_F(EmbeddedKinds, EveryVersionLoadsWithStandardFields) {
  std::size_t versions = 0;
  for (const Value& kind : document_->at("kinds").as_array()) {
    for (const Value& served : kind.at("versions").as_array()) {
      const OpenApiResource loaded = resource(kind, served);
      ASSERT_NE(loaded.schema, nullptr);
      for (const char* field : {"apiVersion", "kind", "metadata"}) {
        EXPECT_NE(loaded.schema->field(field), nullptr) << loaded.kind << " " << field;
      }
      ++versions;
    }
  }
  EXPECT_EQ(versions, 69u);
}

TEST_F(EmbeddedKinds, PodsAreNormalizedAsTheServerDoes) {
  Value pod = json_of(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {
      "hostNetwork": false, "nodeSelector": {}, "containers": [
        {"name": "c", "image": "i", "ports": [{"containerPort": 80}], "livenessProbe": {"httpGet": {"port": 80}},
         "resources": {"limits": {"cpu": "0.5"}}}],
      "volumes": [{"name": "v", "configMap": {"name": "m"}}]}})");
  const json::Schema& schema = definition("io.k8s.api.core.v1.Pod");
  EXPECT_EQ(json::check_types(pod, schema), std::nullopt);
  json::normalize(pod, schema);
  EXPECT_EQ(pod, json_of(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "creationTimestamp": null},
      "spec": {"containers": [
        {"name": "c", "image": "i", "ports": [{"containerPort": 80, "protocol": "TCP"}],
         "livenessProbe": {"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}, "timeoutSeconds": 1,
                           "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
         "resources": {"limits": {"cpu": "500m"}}, "terminationMessagePath": "/dev/termination-log",
         "terminationMessagePolicy": "File"}],
       "volumes": [{"name": "v", "configMap": {"name": "m", "defaultMode": 420}}],
       "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
       "securityContext": {}, "terminationGracePeriodSeconds": 30},
      "status": {}})"))
      << json::serialize(pod);
  EXPECT_TRUE(json::validate(pod, schema, json::Dialect::kBuiltin).empty());
}

TEST_F(EmbeddedKinds, EmptyFieldsThatTheServerWritesAreThere) {
  Value set =
      json_of(R"({"kind": "StatefulSet", "spec": {"selector": {"matchLabels": {"a": "b"}}, "serviceName": ""}})");
  json::normalize(set, definition("io.k8s.api.apps.v1.StatefulSet"));
  EXPECT_EQ(set.at("status"), json_of(R"({"availableReplicas": 0, "replicas": 0})"));
  EXPECT_EQ(set.at("spec").at("template").at("metadata"), json_of(R"({"creationTimestamp": null})"));
  EXPECT_EQ(set.at("spec").at("updateStrategy"), json_of("{}")) << "its defaults depend on each other: a strategy's";
  Value role = json_of(R"({"kind": "Role"})");
  json::normalize(role, definition("io.k8s.api.rbac.v1.Role"));
  EXPECT_TRUE(role.at("rules").is_null());
}

TEST_F(EmbeddedKinds, DecodeErrorsNameTheGoTypes) {
  const json::Schema& schema = definition("io.k8s.api.apps.v1.Deployment");
  const auto types = [&](std::string_view text) { return json::check_types(json_of(text), schema).value_or(""); };
  EXPECT_EQ(types(R"({"spec": {"template": {"spec": {"restartPolicy": 5}}}})"),
            "json: cannot unmarshal number into Go struct field PodSpec.spec.template.spec.restartPolicy of type "
            "v1.RestartPolicy");
  EXPECT_EQ(types(R"({"spec": {"template": {"spec": {"containers": {}}}}})"),
            "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type "
            "[]v1.Container");
}

TEST_F(EmbeddedKinds, DocumentsDescribeKindsForExplainAndApply) {
  const Value document = json_of(openapi_document(group_of("", "v1"), *set_));
  const Object& schemas = document.at("components").at("schemas").as_object();
  const Value& pod = schemas.at("io.k8s.api.core.v1.Pod");
  EXPECT_EQ(pod.at("x-kubernetes-group-version-kind"), json_of(R"([{"group": "", "version": "v1", "kind": "Pod"}])"));
  EXPECT_EQ(pod.at("properties").at("spec").at("allOf").at(0).at("$ref"),
            "#/components/schemas/io.k8s.api.core.v1.PodSpec");
  const Value& containers = schemas.at("io.k8s.api.core.v1.PodSpec").at("properties").at("containers");
  EXPECT_EQ(containers.at("x-kubernetes-list-map-keys"), json_of(R"(["name"])"));
  EXPECT_EQ(containers.at("x-kubernetes-patch-merge-key"), "name");
  EXPECT_EQ(containers.at("x-kubernetes-patch-strategy"), "merge");
  EXPECT_FALSE(containers.at("description").as_string().empty());
  EXPECT_EQ(schemas.at("io.k8s.api.core.v1.ObjectReference").at("x-kubernetes-map-type"), "atomic");
  const Value& claim = schemas.at("io.k8s.api.core.v1.PersistentVolumeSpec").at("properties").at("claimRef");
  EXPECT_EQ(claim.at("x-kubernetes-map-type"), "granular") << "a field may say otherwise than its type";
  EXPECT_EQ(schemas.at("io.k8s.api.core.v1.PodList").at("properties").at("items").at("items").at("$ref"),
            "#/components/schemas/io.k8s.api.core.v1.Pod");

  const Object& paths = document.at("paths").as_object();
  const Value& one = paths.at("/api/v1/namespaces/{namespace}/pods/{name}");
  EXPECT_EQ(one.at("get").at("x-kubernetes-action"), "get");
  EXPECT_EQ(one.at("patch").at("x-kubernetes-group-version-kind").at("kind"), "Pod");
  bool validates = false;
  for (const Value& parameter : one.at("patch").at("parameters").as_array()) {
    validates |= parameter.at("name") == "fieldValidation";
  }
  EXPECT_TRUE(validates);
  EXPECT_TRUE(paths.contains("/api/v1/pods"));
  EXPECT_TRUE(paths.contains("/api/v1/nodes/{name}/status"));
  EXPECT_FALSE(paths.at("/api/v1/namespaces").as_object().contains("delete")) << "namespaces have no deletecollection";
}

// A reference that leads nowhere breaks every client that resolves it.
TEST_F(EmbeddedKinds, EveryReferenceResolves) {
  for (const auto& [group, version] : {std::pair{"", "v1"},
                                       {"apps", "v1"},
                                       {"apiextensions.k8s.io", "v1"},
                                       {"scheduling.k8s.io", "v1beta1"},
                                       {"scheduling.x-k8s.io", "v1alpha1"},
                                       {"gangway.dev", "v1alpha1"},
                                       {"events.k8s.io", "v1"}}) {
    const std::string text = openapi_document(group_of(group, version), *set_);
    const Value document = json_of(text);
    const Object& schemas = document.at("components").at("schemas").as_object();
    constexpr std::string_view kPrefix = "\"#/components/schemas/";
    std::size_t references = 0;
    for (auto at = text.find(kPrefix); at != std::string::npos; at = text.find(kPrefix, at + 1)) {
      const auto start = at + kPrefix.size();
      const std::string name = text.substr(start, text.find('"', start) - start);
      EXPECT_TRUE(schemas.contains(name)) << name << " in " << group << "/" << version;
      ++references;
    }
    EXPECT_GT(references, 10u);
  }
}

TEST_F(EmbeddedKinds, KindsWithoutADefinitionOfTheirOwnAreNamedAfterTheirGroup) {
  const Value beta = json_of(openapi_document(group_of("scheduling.k8s.io", "v1beta1"), *set_));
  EXPECT_TRUE(beta.at("components").at("schemas").as_object().contains("io.k8s.scheduling.v1beta1.PriorityClass"));

  auto schema = set_->load(json_of(R"({"type": "object", "properties": {"spec": {"type": "object", "required": ["n"],
      "properties": {"n": {"type": "integer", "minimum": 1}, "p": {"x-kubernetes-int-or-string": true}}}}})"));
  ASSERT_TRUE(schema);
  OpenApiGroup group{"stable.example.com", "v1", {}};
  group.resources.push_back(OpenApiResource{"Tab", "TabList", "tabs", true, {"get", "list"}, *schema, {}});
  const Value document = json_of(openapi_document(group, *set_));
  const Value& tab = document.at("components").at("schemas").at("com.example.stable.v1.Tab");
  const Value& metadata = tab.at("properties").at("metadata");
  EXPECT_EQ(metadata.at("allOf").at(0).at("$ref"),
            "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  EXPECT_EQ(metadata.at("description"), "Name, labels and what else every object has.");
  EXPECT_EQ(tab.at("properties").at("kind"),
            json_of(R"({"type": "string", "description": "The kind of the object."})"));
  EXPECT_EQ(tab.at("properties").at("spec").at("properties").at("n"), json_of(R"({"type": "integer", "minimum": 1})"));
  EXPECT_EQ(tab.at("properties").at("spec").at("properties").at("p").at("x-kubernetes-int-or-string"), true);
}

TEST(OpenApiIndex, PointsToDocumentsByHash) {
  EXPECT_EQ(openapi_path("", "v1"), "api/v1");
  EXPECT_EQ(openapi_path("apps", "v1"), "apis/apps/v1");
  const std::string hash = openapi_hash("a");
  EXPECT_EQ(hash.size(), 32u);
  EXPECT_NE(hash, openapi_hash("b"));
  EXPECT_EQ(json_of(openapi_index({{"api/v1", hash}})),
            json_of(R"({"paths": {"api/v1": {"serverRelativeURL": "/openapi/v3/api/v1?hash=)" + hash + R"("}}})"));
}

}  // namespace
}  // namespace gangway::apiserver
