// Roots for tests of laws: objects written by hand, as a store would hold them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/memory_store.h"
#include "store/store_contract.h"
#include "testing/manual_loop.h"

namespace gangway::sim {

struct TestObject {
  api::ResourceName resource;
  api::ObjectName name;
  std::string uid = {};  // empty: made of the name
  std::vector<api::OwnerReference> owners = {};
  bool deleting = false;
  std::int64_t generation = 1;
  std::string metadata = {};  // more of it: R"("labels":{…})"
  std::string body = {};      // what follows the metadata: R"("spec":{}, …)"
};

inline api::OwnerReference owned_by(const std::string& uid) {
  return {"v1", "ConfigMap", "the-owner", uid, true, false};
}

class TestRoots {
 public:
  explicit TestRoots(std::shared_ptr<const store::Root> opening = nullptr) : store_(loop_, {}, opening) {}

  // Returns the change as a watcher sees it.
  store::Change put(const TestObject& object) {
    store::Write write{.key = {object.resource, object.name}, .effect = {}, .expected = {}, .draft = {}};
    auto& header = write.draft.header;
    header.uid = object.uid.empty() ? "uid-" + object.name.name : object.uid;
    header.owners = object.owners;
    header.generation = object.generation;
    if (object.deleting) header.deleting_since = loop_.clock().wall();
    write.draft.json = R"({"metadata":{"name":")" + object.name.name + R"(","resourceVersion":"")";
    write.draft.revision_at = write.draft.json.size() - 1;
    if (!object.metadata.empty()) write.draft.json += "," + object.metadata;
    write.draft.json += "}" + (object.body.empty() ? "" : "," + object.body) + "}";
    return commit(std::move(write));
  }
  store::Change erase(const api::ResourceName& resource, const api::ObjectName& name) {
    return commit(store::a_delete({resource, name}));
  }
  std::shared_ptr<const store::Root> root() const { return store_.root(); }

 private:
  store::Change commit(store::Write write) {
    const auto resource = write.key.resource;
    auto cursor = *store_.watch(resource, store_.root()->revision());
    std::vector<store::Write> writes;
    writes.push_back(std::move(write));
    EXPECT_TRUE(store::commit(loop_, store_, std::move(writes)).has_value());
    return **cursor->next();
  }

  testing::ManualLoop loop_;
  store::MemoryStore store_;
};

}  // namespace gangway::sim
