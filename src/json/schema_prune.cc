#include "json/schema_prune.h"

#include <iterator>

namespace gangway::json {
namespace {

class Pruner {
 public:
  explicit Pruner(const Schema* object_meta) : object_meta_(object_meta) {}

  void walk(Value& value, const Schema& schema, bool resource) {
    if (value.is_object()) {
      walk_object(value.get_object(), schema, resource);
    } else if (value.is_array() && schema.items != nullptr) {
      for (Value& item : value.get_array()) walk(item, *schema.items, false);
    }
  }

 private:
  void walk_object(Object& object, const Schema& schema, bool resource) {
    const bool has_meta = resource || schema.embedded_resource;
    for (auto at = object.begin(); at != object.end();) {
      const std::string_view key = at->key();
      if (has_meta && (key == "apiVersion" || key == "kind" || key == "metadata")) {
        if (key == "metadata" && object_meta_ != nullptr) Pruner(nullptr).walk(at->value(), *object_meta_, false);
        ++at;
      } else if (const Schema* field = schema.field(key)) {
        walk(at->value(), *field, false);
        ++at;
      } else if (schema.preserve_unknown) {
        ++at;
      } else {
        at = object.stable_erase(at);
      }
    }
  }

  const Schema* object_meta_;
};

}  // namespace

void prune(Value& value, const Schema& schema, const Schema* object_meta) {
  Pruner(object_meta).walk(value, schema, true);
}

}  // namespace gangway::json
