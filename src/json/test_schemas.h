// A pod-like kind for the tests of this folder: nested structs, keyed lists with a defaulted key, sets, atomic lists
// and maps, and a part without schema. Same annotations as in kinds/.
#pragma once

#include <gtest/gtest.h>

#include "json/schema.h"
#include "json/test_values.h"

namespace gangway::json {

inline const Schema& test_schema() {
  static SchemaSet set;
  static const Schema* schema = [] {
    const Value text = json_of(R"({
      "type": "object",
      "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object", "x-gangway-empty": {}, "properties": {
          "name": {"type": "string"}, "namespace": {"type": "string"}, "uid": {"type": "string"},
          "resourceVersion": {"type": "string"}, "generation": {"type": "integer"},
          "labels": {"type": "object", "additionalProperties": {"type": "string"}},
          "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
          "finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set",
                         "x-kubernetes-patch-strategy": "merge"},
          "managedFields": {"type": "array", "items": {"type": "object", "properties": {"manager": {"type": "string"}}}}
        }},
        "spec": {"type": "object", "x-gangway-empty": {}, "properties": {
          "replicas": {"type": "integer"},
          "paused": {"type": "boolean"},
          "args": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"},
          "selector": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
            "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}}}},
          "strategy": {"type": "object", "x-gangway-empty": {}, "x-kubernetes-patch-strategy": "retainKeys", "properties": {
            "type": {"type": "string"},
            "rollingUpdate": {"type": "object", "properties": {"maxSurge": {"type": "integer"}}}}},
          "containers": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name",
            "items": {"type": "object", "properties": {
              "name": {"type": "string"}, "image": {"type": "string"},
              "resources": {"type": "object", "x-gangway-empty": {}, "properties": {
                "limits": {"type": "object", "additionalProperties": {"type": "string"}}}},
              "env": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "name",
                "items": {"type": "object", "properties": {"name": {"type": "string"}, "value": {"type": "string"}}}},
              "ports": {"type": "array", "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
                "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "containerPort",
                "items": {"type": "object", "properties": {
                  "containerPort": {"type": "integer"}, "name": {"type": "string"},
                  "protocol": {"type": "string", "default": "TCP"}}}}
            }}},
          "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}
        }},
        "status": {"type": "object", "x-gangway-empty": {}, "properties": {
          "phase": {"type": "string"}, "observed": {"type": "integer"},
          "conditions": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
            "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "type",
            "items": {"type": "object", "properties": {"type": {"type": "string"}, "status": {"type": "string"}}}}
        }}
      }})");
    Result<const Schema*> loaded = set.load(text);
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
    return loaded ? *loaded : nullptr;
  }();
  return *schema;
}

}  // namespace gangway::json
