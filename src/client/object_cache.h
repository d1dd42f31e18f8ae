// ObjectCache: the objects of one resource, with the indexes that reconcilers ask for. Values of api::Version only; no
// client, no loop. Owned by one loop (an Informer fills it), or by a test.
//
// The indexes read headers only, but for those that a controller defines itself. A lookup costs a tree search and what
// it returns.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <typeindex>
#include <unordered_map>
#include <vector>

#include "api/object.h"

namespace gangway::client {

class ObjectCache;

// Finds objects by something that is in their JSON. Keys are read once a version, when it comes into the cache.
struct KeyIndex {
  std::string name;
  std::vector<std::string> (*keys)(const ObjectCache& cache, const api::Version& version) = nullptr;
};

class ObjectCache {
 public:
  using Objects = std::map<api::ObjectName, api::Version>;
  using Visit = std::function<void(const api::Version&)>;

  // `indexed_fields`: paths of Header::fields that with_field() may be asked for.
  explicit ObjectCache(std::vector<std::string> indexed_fields = {});
  // The indexes point into the map: a copy would point into the original.
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;
  ObjectCache(ObjectCache&&) = default;
  ObjectCache& operator=(ObjectCache&&) = default;

  // From now on with_field() may be asked for this path too.
  void add_index(const std::string& path);
  // Does nothing when there is an index of that name.
  void add_index(const KeyIndex& index);

  // What was there before, if anything.
  api::Version put(api::Version version);
  api::Version erase(const api::ObjectName& name);

  // Empty when there is none.
  api::Version get(const api::ObjectName& name) const;
  bool contains(const api::ObjectName& name) const { return objects_.contains(name); }
  const Objects& all() const { return objects_; }
  std::size_t size() const { return objects_.size(); }

  // All of these in the order of names.
  std::vector<api::Version> in_namespace(std::string_view ns) const;
  std::vector<api::Version> owned_by(std::string_view uid) const;
  void for_each_owned_by(std::string_view uid, const Visit& visit) const;
  bool has_owned_by(std::string_view uid) const { return by_owner_.find(uid) != by_owner_.end(); }
  // Those that nobody manages: what a controller may adopt is among them.
  std::vector<api::Version> without_controller(std::string_view ns) const;
  // Requires: there is an index for `path`.
  std::vector<api::Version> with_field(std::string_view path, std::string_view value) const;
  // Requires: there is an index of that name.
  std::vector<api::Version> with_key(std::string_view index, std::string_view key) const;
  std::size_t count_with_field(std::string_view path, std::string_view value) const;

  // How many objects of this owner have gone while this cache was kept. What names new objects after a number that only
  // grows needs it; counts of owners that were forgotten begin again.
  std::uint64_t departed(std::string_view owner_uid) const;

  // What `read` makes of the version: read once and kept while the version is in the cache, however many ask.
  template <class Facts>
  std::shared_ptr<const Facts> facts(const api::Version& version, Facts (*read)(const api::Version&)) const {
    auto& kept = facts_[std::type_index(typeid(Facts))];
    if (auto at = kept.find(version.json.get()); at != kept.end())
      return std::static_pointer_cast<const Facts>(at->second);
    auto made = std::make_shared<const Facts>(read(version));
    if (is_current(version)) kept.emplace(version.json.get(), made);
    return made;
  }

 private:
  using Entry = Objects::value_type;
  struct ByName {
    bool operator()(const Entry* a, const Entry* b) const { return a->first < b->first; }
  };
  // Entries of objects_, which do not move.
  using Entries = std::set<const Entry*, ByName>;
  using Index = std::map<std::string, Entries, std::less<>>;
  struct Keyed {
    KeyIndex definition;
    Index entries;
    std::unordered_map<const Entry*, std::vector<std::string>> keys;  // of those that have any
  };

  void link(const Entry* entry);
  void link(Keyed& index, const Entry* entry) const;
  void unlink(const Entry* entry);
  void forget_facts(const api::Version& version);
  bool is_current(const api::Version& version) const;
  static std::vector<api::Version> collect(const Index& index, std::string_view key);

  Objects objects_;
  Index by_owner_;
  Index uncontrolled_;  // by namespace
  std::map<std::string, Index, std::less<>> by_field_;
  std::map<std::string, Keyed, std::less<>> by_key_;
  std::map<std::string, std::uint64_t, std::less<>> departed_;
  // By the address of the JSON, which lives as long as the version is here.
  mutable std::map<std::type_index, std::unordered_map<const std::string*, std::shared_ptr<const void>>> facts_;
};

}  // namespace gangway::client
