// LineWriter: one JSON object, written field by field in the order in which it is told. A value's scratch; any thread.
//
// What has its default is left out, so that lines are short, and equal values are equal bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "json/value.h"

namespace gangway::scheduler::flight {

// RFC 3339 with a fraction only where there is one; "90s", or "…ns" for what is no whole number of seconds.
std::string time_text(WallTime time);
std::string duration_text(Duration duration);

class LineWriter {
 public:
  explicit LineWriter(std::string& out) : out_(out) { open('{'); }
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;
  void end() { close('}'); }

  void text(std::string_view key, std::string_view value) {
    name(key);
    quote(value);
  }
  void text_unless(std::string_view otherwise, std::string_view key, std::string_view value) {
    if (value != otherwise) text(key, value);
  }
  void number(std::string_view key, std::int64_t value) {
    name(key);
    out_ += std::to_string(value);
  }
  void number_unless(std::int64_t otherwise, std::string_view key, std::int64_t value) {
    if (value != otherwise) number(key, value);
  }
  void flag(std::string_view key, bool value) {
    if (!value) return;
    name(key);
    out_ += "true";
  }
  void null(std::string_view key) {
    name(key);
    out_ += "null";
  }
  void time(std::string_view key, WallTime value) { text(key, time_text(value)); }

  // A list, or an object, of what `each` writes for every item.
  template <class Items, class Each>
  void list(std::string_view key, const Items& items, Each each) {
    if (items.empty()) return;
    name(key);
    open('[');
    for (const auto& item : items) {
      separate();
      each(item);
    }
    close(']');
  }
  template <class Write>
  void object(std::string_view key, Write write) {
    name(key);
    open('{');
    write();
    close('}');
  }
  // As an item of a list: an object of its own.
  template <class Write>
  void item(Write write) {
    open('{');
    write();
    close('}');
  }
  void item_text(std::string_view value) { quote(value); }
  // As a field whose name is not one of ours.
  void named(std::string_view key, std::string_view value) {
    separate();
    quote(key);
    out_ += ':';
    quote(value);
  }
  // Fields that were written before, as they stand: "\"a\":1,\"b\":2".
  void fields(std::string_view ready) {
    if (ready.empty()) return;
    separate();
    out_ += ready;
  }

 private:
  void open(char bracket) {
    out_ += bracket;
    is_first_ = true;
  }
  void close(char bracket) {
    out_ += bracket;
    is_first_ = false;
  }
  void separate() {
    if (!is_first_) out_ += ',';
    is_first_ = false;
  }
  // Nearly everything that is written here is a short name.
  void quote(std::string_view value) {
    const bool is_plain = std::none_of(value.begin(), value.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
    });
    if (!is_plain) return json::append_quoted(value, out_);
    out_ += '"';
    out_ += value;
    out_ += '"';
  }
  void name(std::string_view key) {
    separate();
    out_ += '"';
    out_ += key;  // ours: nothing in it needs an escape
    out_ += "\":";
  }

  std::string& out_;
  bool is_first_ = true;
};

}  // namespace gangway::scheduler::flight
