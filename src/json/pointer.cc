#include "json/pointer.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace gangway::json {
namespace {

Result<std::string> unescape(std::string_view token, std::string_view pointer) {
  std::string text;
  text.reserve(token.size());
  for (std::size_t at = 0; at < token.size(); ++at) {
    if (token[at] != '~') {
      text += token[at];
      continue;
    }
    const char code = at + 1 < token.size() ? token[at + 1] : '\0';
    if (code != '0' && code != '1') {
      return bad_request("JSON pointer \"" + std::string(pointer) + "\": '~' must be followed by 0 or 1");
    }
    text += code == '0' ? '~' : '/';
    ++at;
  }
  return text;
}

const Value* step(const Value& value, const std::string& token) {
  if (const Object* object = value.if_object()) return object->if_contains(token);
  if (const Array* array = value.if_array()) {
    const std::optional<std::size_t> index = parse_index(token);
    return index && *index < array->size() ? &(*array)[*index] : nullptr;
  }
  return nullptr;
}

}  // namespace

std::optional<std::size_t> parse_index(std::string_view token) {
  if (token.empty() || (token.size() > 1 && token[0] == '0')) return std::nullopt;
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (error != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return index;
}

Result<Pointer> Pointer::parse(std::string_view text) {
  std::vector<std::string> tokens;
  if (text.empty()) return Pointer();
  if (text[0] != '/') {
    return bad_request("JSON pointer \"" + std::string(text) + "\" must be empty or start with '/'");
  }
  for (std::size_t at = 1;;) {
    const std::size_t slash = text.find('/', at);
    GW_TRY(std::string token, unescape(text.substr(at, slash - at), text));
    tokens.push_back(std::move(token));
    if (slash == std::string_view::npos) break;
    at = slash + 1;
  }
  return Pointer(std::move(tokens));
}

bool Pointer::is_parent_of(const Pointer& other) const {
  return tokens_.size() < other.tokens_.size() && std::equal(tokens_.begin(), tokens_.end(), other.tokens_.begin());
}

std::string Pointer::to_string() const {
  std::string text;
  for (const std::string& token : tokens_) {
    text += '/';
    for (const char c : token) {
      if (c == '~') {
        text += "~0";
      } else if (c == '/') {
        text += "~1";
      } else {
        text += c;
      }
    }
  }
  return text;
}

const Value* Pointer::find(const Value& root) const {
  const Value* at = &root;
  for (const std::string& token : tokens_) {
    at = step(*at, token);
    if (at == nullptr) return nullptr;
  }
  return at;
}

Value* Pointer::find(Value& root) const {
  return const_cast<Value*>(find(std::as_const(root)));
}

Value* Pointer::find_parent(Value& root) const {
  const Value* at = &root;
  for (std::size_t i = 0; i + 1 < tokens_.size(); ++i) {
    at = step(*at, tokens_[i]);
    if (at == nullptr) return nullptr;
  }
  return at->is_structured() ? const_cast<Value*>(at) : nullptr;
}

}  // namespace gangway::json
