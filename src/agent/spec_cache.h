// SpecCache: pods' objects, read once a resourceVersion, for as many pods as are being worked on. A cache of a pure
// function: it changes how long a look takes and never what it decides. One thread.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "agent/pod/pod_spec.h"
#include "api/object.h"

namespace gangway::agent {

class SpecCache {
 public:
  explicit SpecCache(bool processes, std::size_t capacity = 1024) : processes_(processes), capacity_(capacity) {}

  // Null when the object is no JSON.
  std::shared_ptr<const PodSpec> get(const api::Version& version);
  void forget(const std::string& pod_uid);

 private:
  struct Entry {
    api::Revision revision = 0;
    std::shared_ptr<const PodSpec> spec;
    std::list<std::string>::iterator place;
  };

  bool processes_;  // whether what processes need is kept
  std::size_t capacity_;
  std::unordered_map<std::string, Entry> entries_;  // by uid
  std::list<std::string> order_;                    // the one asked for last comes last
};

}  // namespace gangway::agent
