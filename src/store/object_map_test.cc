#include "store/object_map.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace gangway::store {
namespace {

using api::ObjectName;
using Model = std::map<ObjectName, api::Revision>;

api::Version a_version(const ObjectName& name, api::Revision revision) {
  api::Draft draft;
  draft.header.name = name;
  draft.json = R"({"rv":""})";
  draft.revision_at = 7;
  return api::stamp(std::move(draft), revision);
}

Model contents(const ObjectMap& map) {
  Model model;
  for (const auto& version : map) model[version.header->name] = version.header->revision;
  return model;
}

ObjectName name_of(int i) {
  return {"ns-" + std::to_string(i / 100), "pod-" + std::to_string(i)};
}

TEST(ObjectMapTest, EmptyMapHasNothing) {
  const ObjectMap map;
  EXPECT_TRUE(map.empty());
  EXPECT_FALSE(map.get({"a", "b"}));
  EXPECT_EQ(map.begin(), map.end());
  EXPECT_EQ(map.lower_bound({"", ""}), map.end());
  EXPECT_EQ(map.count_before({"z", ""}), 0u);
}

TEST(ObjectMapTest, NamespaceIsNotAPrefixOfNames) {
  ObjectMap::Editor editor{ObjectMap()};
  const std::vector<ObjectName> names = {{"", "node"}, {"a", "x"}, {"a", "y"}, {"a-b", "x"}, {"aa", "x"}, {"b", "x"}};
  for (const auto& name : names) editor.put(a_version(name, 1));
  const auto map = editor.map();
  std::vector<ObjectName> in_a;
  for (const auto& version : map.in_namespace("a")) in_a.push_back(version.header->name);
  EXPECT_EQ(in_a, (std::vector<ObjectName>{{"a", "x"}, {"a", "y"}}));
  const auto none = map.in_namespace("c");
  EXPECT_EQ(none.begin(), none.end());
}

TEST(ObjectMapTest, ChangesOfAnEditorAfterMapDoNotShow) {
  ObjectMap::Editor editor{ObjectMap()};
  for (int i = 0; i < 1000; ++i) editor.put(a_version(name_of(i), 1));
  const auto first = editor.map();
  const auto before = contents(first);
  for (int i = 0; i < 1000; i += 3) editor.erase(name_of(i));
  for (int i = 0; i < 1000; i += 7) editor.put(a_version(name_of(i), 2));
  EXPECT_EQ(contents(first), before);
  EXPECT_EQ(contents(first).size(), 1000u);
}

TEST(ObjectMapTest, OneEditSharesAlmostAllEntries) {
  ObjectMap::Editor load{ObjectMap()};
  for (int i = 0; i < 50'000; ++i) load.put(a_version(name_of(i), 1));
  const auto before = load.map();
  ObjectMap::Editor editor(before);
  editor.put(a_version(name_of(25'000), 2));
  const auto after = editor.map();
  std::size_t moved = 0;
  for (auto a = before.begin(), b = after.begin(); a != before.end(); ++a, ++b) moved += &*a != &*b;
  EXPECT_LE(moved, 64u);
  EXPECT_EQ(after.get(name_of(25'000)).header->revision, 2u);
  EXPECT_EQ(before.get(name_of(25'000)).header->revision, 1u);
}

// Names from a small space, so that edits meet; few namespaces, so that ranges have something in them.
rc::Gen<ObjectName> names() {
  return rc::gen::map(rc::gen::pair(rc::gen::inRange(0, 4), rc::gen::inRange(0, 400)), [](std::pair<int, int> at) {
    return ObjectName{std::string(static_cast<std::size_t>(at.first), 'n'), std::to_string(at.second)};
  });
}

void check_against(const ObjectMap& map, const Model& model) {
  RC_ASSERT(map.size() == model.size());
  RC_ASSERT(contents(map) == model);
  RC_ASSERT(static_cast<std::size_t>(std::distance(map.begin(), map.end())) == model.size());
  const auto probe = *names();
  const auto found = map.get(probe);
  RC_ASSERT(static_cast<bool>(found) == model.contains(probe));
  const auto want = model.lower_bound(probe);
  const auto got = map.lower_bound(probe);
  RC_ASSERT((got == map.end()) == (want == model.end()));
  if (want != model.end()) RC_ASSERT(got->header->name == want->first);
  const auto want_after = model.upper_bound(probe);
  const auto got_after = map.upper_bound(probe);
  RC_ASSERT((got_after == map.end()) == (want_after == model.end()));
  if (want_after != model.end()) RC_ASSERT(got_after->header->name == want_after->first);
  RC_ASSERT(map.count_before(probe) == static_cast<std::size_t>(std::distance(model.begin(), want)));
  Model in_namespace;
  for (const auto& version : map.in_namespace(probe.ns)) in_namespace[version.header->name] = version.header->revision;
  Model want_in_namespace;
  for (const auto& [name, revision] : model) {
    if (name.ns == probe.ns) want_in_namespace[name] = revision;
  }
  RC_ASSERT(in_namespace == want_in_namespace);
}

RC_GTEST_PROP(ObjectMapProperty, BehavesLikeAnOrderedMapAndOldCopiesNeverChange, ()) {
  ObjectMap map;
  Model model;
  std::vector<std::pair<ObjectMap, Model>> history;
  api::Revision revision = 0;
  const auto batches = *rc::gen::inRange(1, 12);
  for (int batch = 0; batch < batches; ++batch) {
    ObjectMap::Editor editor(map);
    const auto edits = *rc::gen::container<std::vector<ObjectName>>(names());
    // Some batches mostly grow the map and some mostly shrink it, down to nothing.
    const auto erase_weight = *rc::gen::element<std::size_t>(1, 5, 10);
    const auto repeat = *rc::gen::inRange<std::size_t>(1, 20);
    for (std::size_t i = 0; i < edits.size() * repeat; ++i) {
      auto name = edits[i % edits.size()];
      name.name = std::to_string((std::stoul(name.name) + i / edits.size() * 37) % 400);
      ++revision;
      if ((i * 7 + revision) % 10 < erase_weight) {
        RC_ASSERT(editor.erase(name) == (model.erase(name) == 1));
      } else {
        editor.put(a_version(name, revision));
        model[name] = revision;
      }
    }
    map = editor.map();
    check_against(map, model);
    history.emplace_back(map, model);
  }
  for (const auto& [old_map, old_model] : history) RC_ASSERT(contents(old_map) == old_model);
}

RC_GTEST_PROP(ObjectMapProperty, SurvivesAnyOrderOfGrowthAndDecay, ()) {
  auto order = *rc::gen::container<std::vector<int>>(1500, rc::gen::inRange(0, 3000));
  ObjectMap::Editor editor{ObjectMap()};
  Model model;
  for (const auto i : order) {
    editor.put(a_version(name_of(i), 1));
    model[name_of(i)] = 1;
  }
  RC_ASSERT(contents(editor.map()) == model);
  const auto keep = *rc::gen::inRange<std::size_t>(0, 60);
  for (const auto i : order) {
    if (model.size() <= keep) break;
    editor.erase(name_of(i));
    model.erase(name_of(i));
  }
  check_against(editor.map(), model);
}

}  // namespace
}  // namespace gangway::store
