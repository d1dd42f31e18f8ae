// FieldReader: takes a JSON object apart, field by field. The first thing that is wrong is kept with its path, and all
// that is asked for after it is the default: whoever reads asks once, at the end, whether all was well.
//
// A field that nobody asked for is wrong too: a slip of the pen in a file that people write, or a newer version's.
#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "json/value.h"
#include "planning/labels.h"

namespace gangway::scheduler::flight {

class FieldReader {
 public:
  struct Problem {
    std::string text;  // "path: what is wrong"; empty while nothing is
    void note(const std::string& path, const std::string& what) {
      if (text.empty()) text = path + ": " + what;
    }
  };

  FieldReader(const json::Value& value, std::string path, Problem& problem);
  FieldReader(const FieldReader&) = delete;
  FieldReader& operator=(const FieldReader&) = delete;

  bool has(std::string_view key) { return find(key) != nullptr; }
  // There, and null.
  bool is_null(std::string_view key);
  std::string text(std::string_view key, std::string_view otherwise = "");
  std::string required_text(std::string_view key);
  std::int64_t number(std::string_view key, std::int64_t otherwise, std::int64_t least = kAny);
  bool flag(std::string_view key);
  WallTime time(std::string_view key, WallTime otherwise);
  Duration duration(std::string_view key);
  std::vector<std::string> texts(std::string_view key);
  planning::Labels labels(std::string_view key);
  // One of the words, as its place among them.
  template <class Words>
  std::size_t word(std::string_view key, const Words& words, std::size_t otherwise) {
    return place_of(key, {words.begin(), words.end()}, otherwise);
  }
  // Names with what they stand at, in no order that means anything.
  std::vector<std::pair<std::string, const json::Value*>> members(std::string_view key);
  template <class Each>
  void each(std::string_view key, Each read) {
    std::size_t index = 0;
    for (const json::Value& item : items(key)) {
      FieldReader fields(item, path_of(key) + "[" + std::to_string(index++) + "]", problem_);
      read(fields);
      fields.finish();
    }
  }

  // Nobody asked for what is left.
  void finish();
  std::string path_of(std::string_view key) const;
  void wrong(std::string_view key, const std::string& what) { problem_.note(path_of(key), what); }
  Problem& problem() { return problem_; }

  static constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::min();

 private:
  const json::Value* find(std::string_view key);
  const json::Array& items(std::string_view key);
  std::size_t place_of(std::string_view key, const std::vector<std::string_view>& words, std::size_t otherwise);

  const json::Object* object_ = nullptr;
  std::string path_;
  Problem& problem_;
  std::set<std::string_view> asked_;
};

}  // namespace gangway::scheduler::flight
