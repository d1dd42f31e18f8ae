#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "json/value.h"

namespace gangway::json {
namespace {

// Bytes that may not stand in a JSON string as they are: controls, the quote and the backslash.
constexpr auto kNeedsEscape = [] {
  std::array<bool, 256> table{};
  for (std::size_t byte = 0; byte < 0x20; ++byte) table[byte] = true;
  table['"'] = table['\\'] = true;
  return table;
}();

// The same for eight bytes at once. A byte subtracted below zero borrows its high bit, which the complement of the word
// lets through only where it was not set before.
bool any_needs_escape(const char* eight) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHigh = 0x8080808080808080;
  std::uint64_t word = 0;
  std::memcpy(&word, eight, sizeof word);
  const std::uint64_t control = (word - kOnes * 0x20) & ~word;
  const std::uint64_t quote = word ^ kOnes * '"';
  const std::uint64_t backslash = word ^ kOnes * '\\';
  return ((control | ((quote - kOnes) & ~quote) | ((backslash - kOnes) & ~backslash)) & kHigh) != 0;
}

// Whether the text may stand between quotes as it is, which nearly all do.
bool is_plain(std::string_view text) {
  if (text.size() < 8) {
    return std::none_of(text.begin(), text.end(), [](char c) { return kNeedsEscape[static_cast<unsigned char>(c)]; });
  }
  // The last eight bytes may overlap the ones before.
  for (std::size_t at = 0; at + 8 < text.size(); at += 8)
    if (any_needs_escape(text.data() + at)) return false;
  return !any_needs_escape(text.data() + text.size() - 8);
}

// Where text is written: grows ahead of what comes, so that writing a byte is a store and an increment.
class Sink {
 public:
  explicit Sink(std::string& out) : out_(out), start_(out.size()), size_(start_) {}
  ~Sink() { out_.resize(size_); }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  void put(char c) {
    *room(1) = c;
    ++size_;
  }
  void put(std::string_view text) {
    std::memcpy(room(text.size()), text.data(), text.size());
    size_ += text.size();
  }
  void put(const char* begin, const char* end) { put({begin, static_cast<std::size_t>(end - begin)}); }
  // The text between quotes, as it is.
  void put_quoted(std::string_view text) {
    char* at = room(text.size() + 2);
    *at = '"';
    std::memcpy(at + 1, text.data(), text.size());
    at[text.size() + 1] = '"';
    size_ += text.size() + 2;
  }

 private:
  char* room(std::size_t bytes) {
    if (out_.size() - size_ < bytes) out_.resize(size_ + bytes + 64 + (size_ - start_));
    return out_.data() + size_;
  }

  std::string& out_;
  const std::size_t start_;
  std::size_t size_;  // written; out_ may be longer meanwhile
};

void write_value(const Value& value, Sink& out);
void write_quoted(std::string_view text, Sink& out);

void write_escape(unsigned char byte, Sink& out) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (byte) {
    case '"':
      out.put("\\\"");
      return;
    case '\\':
      out.put("\\\\");
      return;
    case '\n':
      out.put("\\n");
      return;
    case '\r':
      out.put("\\r");
      return;
    case '\t':
      out.put("\\t");
      return;
    case '\b':
      out.put("\\b");
      return;
    case '\f':
      out.put("\\f");
      return;
    default:
      out.put("\\u00");
      out.put(kHex[byte >> 4]);
      out.put(kHex[byte & 15]);
  }
}

template <class Integer>
void write_integer(Integer number, Sink& out) {
  char digits[24];
  out.put(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

// As Go's encoding/json: the shortest digits that read back as the same number; plain in the range that people read,
// with an exponent outside of it.
void write_double(double number, Sink& out) {
  char digits[40];
  const double size = std::abs(number);
  if (size == 0 || (size >= 1e-6 && size < 1e15)) {
    out.put(digits, std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed).ptr);
    return;
  }
  char* end = std::to_chars(digits, digits + sizeof digits, number, std::chars_format::scientific).ptr;
  if (size >= 1e15 && size < 1e21) {
    // to_chars' fixed form has all digits of the number, the shortest form pads with zeros.
    char* exponent = std::find(digits, end, 'e');
    std::string plain(digits, exponent);
    std::erase(plain, '.');
    const std::size_t before_point = static_cast<std::size_t>((exponent[2] - '0') * 10 + exponent[3] - '0') + 1;
    plain.resize(std::max(plain.size(), before_point + (number < 0 ? 1 : 0)), '0');
    if (const std::size_t point = before_point + (number < 0 ? 1 : 0); point < plain.size()) plain.insert(point, ".");
    out.put(plain);
    return;
  }
  if (end[-4] == 'e' && end[-3] == '-' && end[-2] == '0') {
    end[-2] = end[-1];  // e-09 is written e-9
    --end;
  }
  out.put(digits, end);
}

void write_array(const Array& array, Sink& out) {
  out.put('[');
  for (const Value& item : array) {
    if (&item != array.data()) out.put(',');
    write_value(item, out);
  }
  out.put(']');
}

void write_object(const Object& object, Sink& out) {
  out.put('{');
  for (auto member = object.begin(); member != object.end(); ++member) {
    if (member != object.begin()) out.put(',');
    write_quoted(member->key(), out);
    out.put(':');
    write_value(member->value(), out);
  }
  out.put('}');
}

void write_quoted(std::string_view text, Sink& out) {
  if (is_plain(text)) return out.put_quoted(text);
  out.put('"');
  const char* plain = text.data();
  const char* const end = plain + text.size();
  for (const char* at = plain; at != end; ++at) {
    const auto byte = static_cast<unsigned char>(*at);
    if (!kNeedsEscape[byte]) continue;
    out.put(plain, at);
    write_escape(byte, out);
    plain = at + 1;
  }
  out.put(plain, end);
  out.put('"');
}

void write_value(const Value& value, Sink& out) {
  switch (value.kind()) {
    case Kind::null:
      out.put("null");
      return;
    case Kind::bool_:
      out.put(value.get_bool() ? "true" : "false");
      return;
    case Kind::int64:
      return write_integer(value.get_int64(), out);
    case Kind::uint64:
      return write_integer(value.get_uint64(), out);
    case Kind::double_:
      return write_double(value.get_double(), out);
    case Kind::string:
      return write_quoted(value.get_string(), out);
    case Kind::array:
      return write_array(value.get_array(), out);
    case Kind::object:
      return write_object(value.get_object(), out);
  }
}

}  // namespace

void append_quoted(std::string_view text, std::string& out) {
  Sink sink(out);
  write_quoted(text, sink);
}

void serialize_to(const Value& value, std::string& out) {
  Sink sink(out);
  write_value(value, sink);
}

std::string serialize(const Value& value) {
  std::string text;
  if (value.is_structured()) text.reserve(4096);
  serialize_to(value, text);
  return text;
}

}  // namespace gangway::json
