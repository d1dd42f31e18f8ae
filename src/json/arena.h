// Arena: memory for the trees of one piece of work, given back all at once when it ends, which makes them much cheaper.
//
// A copy of a tree stays in the memory of the original, so nothing that was made from a tree in an arena by copying or
// moving may outlive it; assigning to a part of a tree elsewhere copies over there and is safe. It is large: keep it on
// the stack of a function that does not recurse. One thread.
#pragma once

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/storage_ptr.hpp>

namespace gangway::json {

class Arena {
 public:
  Arena() : resource_(buffer_, sizeof buffer_) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  boost::json::storage_ptr storage() { return &resource_; }

 private:
  unsigned char buffer_[32 * 1024];  // left as it is: most trees need only a part of it
  boost::json::monotonic_resource resource_;
};

}  // namespace gangway::json
