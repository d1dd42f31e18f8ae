// Builders of objects for tests: an_object("v1", "Pod", "default", "web").label("app", "web").json().
#pragma once

#include <string>
#include <string_view>

#include "api/object.h"
#include "json/value.h"

namespace gangway::testing {

class ObjectBuilder {
 public:
  ObjectBuilder(std::string_view api_version, std::string_view kind, std::string_view ns, std::string_view name);

  ObjectBuilder& label(std::string_view key, std::string_view value);
  ObjectBuilder& finalizer(std::string_view name);
  // An owner that exists: uid and name are taken from it.
  ObjectBuilder& owner(std::string_view api_version, std::string_view kind, const api::Version& owner,
                       bool controller = false, bool block_owner_deletion = false);
  ObjectBuilder& owner(std::string_view api_version, std::string_view kind, std::string_view name, std::string_view uid,
                       bool controller = false, bool block_owner_deletion = false);
  // Merges a JSON text into the object: with(R"({"spec": {"replicas": 3}})").
  ObjectBuilder& with(std::string_view json_text);

  const json::Value& json() const { return object_; }
  operator const json::Value&() const { return object_; }  // NOLINT: a builder stands for its object

 private:
  json::Value object_;
};

ObjectBuilder an_object(std::string_view api_version, std::string_view kind, std::string_view ns,
                        std::string_view name);
ObjectBuilder a_config_map(std::string_view ns, std::string_view name);
ObjectBuilder a_pod(std::string_view ns, std::string_view name);
ObjectBuilder a_namespace(std::string_view name);

// A JSON text that must be well formed.
json::Value parsed(std::string_view json_text);

}  // namespace gangway::testing
