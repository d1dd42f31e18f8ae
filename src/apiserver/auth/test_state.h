// TestState: a store's root made of literals, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/metadata.h"
#include "store/store.h"

namespace gangway::apiserver {

inline json::Value parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : json::Value();
}

class TestState final : public store::Root {
 public:
  api::Revision revision() const override { return revision_; }
  const store::ObjectMap& objects(const api::ResourceName& resource) const override {
    static const store::ObjectMap kEmpty;
    auto found = maps_.find(resource);
    return found == maps_.end() ? kEmpty : found->second;
  }
  std::vector<api::ResourceName> resources() const override { return {}; }

  void put(const api::ResourceName& resource, std::string_view text) {
    static const api::SelectableFields kFields(std::vector<api::SelectableField>{{"spec.nodeName", ""}});
    store::ObjectMap::Editor editor(maps_[resource]);
    editor.put(api::stamp(api::make_draft(parsed(text), kFields), ++revision_));
    maps_[resource] = editor.map();
  }
  void erase(const api::ResourceName& resource, const api::ObjectName& name) {
    store::ObjectMap::Editor editor(maps_[resource]);
    EXPECT_TRUE(editor.erase(name));
    maps_[resource] = editor.map();
  }

 private:
  api::Revision revision_ = 0;
  std::map<api::ResourceName, store::ObjectMap> maps_;
};

}  // namespace gangway::apiserver
