// What the fuzz targets share: the check that a finding is made of, and bytes taken apart into fields.
//
// A target is one function, LLVMFuzzerTestOneInput, that must neither crash nor break a law for any bytes. Inputs are
// text where they can be, so that corpora and findings can be read: fields stand on lines of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace gangway::fuzz {

// Ends the process the way libFuzzer reports as a crash. `seen` is what the law was broken by.
[[noreturn]] inline void law_broken(const char* law, std::string_view seen, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: law broken: %s: %.*s\n", file, line, law, static_cast<int>(seen.size()), seen.data());
  std::abort();
}

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  // Up to the next `separator`, which is dropped.
  std::string_view until(char separator) {
    const auto field = rest_.substr(0, rest_.find(separator));
    rest_.remove_prefix(field.size() < rest_.size() ? field.size() + 1 : field.size());
    return field;
  }
  std::string_view line() { return until('\n'); }
  std::string_view rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }
  // The next byte, or 0 behind the end.
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }

 private:
  std::string_view rest_;
};

}  // namespace gangway::fuzz

#define FUZZ_LAW(condition, seen) \
  ((condition) ? static_cast<void>(0) : ::gangway::fuzz::law_broken(#condition, (seen), __FILE__, __LINE__))
