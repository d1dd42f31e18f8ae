// IndexSet: completion indexes as a Job's status writes them, "1,3-5,7". A value; costs what its text costs, not what
// it counts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gangway::controllers {

class IndexSet {
 public:
  IndexSet() = default;
  // What cannot be read, and indexes from `end` on, are left out.
  static IndexSet parse(std::string_view text, std::int64_t end);

  void insert(std::int64_t index);
  void insert(const IndexSet& others);

  bool contains(std::int64_t index) const;
  std::int64_t size() const;
  bool empty() const { return ranges_.empty(); }
  // How many of these are among `others`.
  std::int64_t count_in(const IndexSet& others) const;
  // The first `count` indexes below `end` that are not among these.
  std::vector<std::int64_t> missing(std::int64_t count, std::int64_t end) const;
  // "1,3-5,7"; two in a row are "3,4".
  std::string to_string() const;

  bool operator==(const IndexSet&) const = default;

 private:
  struct Range {
    std::int64_t first = 0;
    std::int64_t last = 0;
    bool operator==(const Range&) const = default;
  };
  void insert_range(Range range);

  std::vector<Range> ranges_;  // ordered, apart by more than one
};

}  // namespace gangway::controllers
