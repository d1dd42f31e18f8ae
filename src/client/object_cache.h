// ObjectCache: the objects of one resource, with the indexes that reconcilers ask for. Values of api::Version only; no
// client, no loop. Owned by one loop (an Informer fills it), or by a test.
//
// The indexes read headers only, never JSON. A lookup costs a tree search and what it returns.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/object.h"

namespace gangway::client {

class ObjectCache {
 public:
  using Objects = std::map<api::ObjectName, api::Version>;

  // `indexed_fields`: paths of Header::fields that with_field() may be asked for.
  explicit ObjectCache(std::vector<std::string> indexed_fields = {});
  // The indexes point into the map: a copy would point into the original.
  ObjectCache(const ObjectCache&) = delete;
  ObjectCache& operator=(const ObjectCache&) = delete;
  ObjectCache(ObjectCache&&) = default;
  ObjectCache& operator=(ObjectCache&&) = default;

  // What was there before, if anything.
  api::Version put(api::Version version);
  api::Version erase(const api::ObjectName& name);

  // Empty when there is none.
  api::Version get(const api::ObjectName& name) const;
  const Objects& all() const { return objects_; }
  std::size_t size() const { return objects_.size(); }

  // All of these in the order of names.
  std::vector<api::Version> in_namespace(std::string_view ns) const;
  std::vector<api::Version> owned_by(std::string_view uid) const;
  bool has_owned_by(std::string_view uid) const { return by_owner_.find(uid) != by_owner_.end(); }
  // Requires: `path` was named to the constructor.
  std::vector<api::Version> with_field(std::string_view path, std::string_view value) const;

 private:
  struct ByName {
    bool operator()(const api::ObjectName* a, const api::ObjectName* b) const { return *a < *b; }
  };
  // Names point at the keys of objects_, which do not move.
  using Names = std::set<const api::ObjectName*, ByName>;
  using Index = std::map<std::string, Names, std::less<>>;

  void link(const api::ObjectName* name, const api::Header& header);
  void unlink(const api::ObjectName* name, const api::Header& header);
  std::vector<api::Version> collect(const Index& index, std::string_view key) const;

  Objects objects_;
  Index by_owner_;
  std::map<std::string, Index, std::less<>> by_field_;
};

}  // namespace gangway::client
