// What the cell functions share: small readers over JSON objects that never fail.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "json/access.h"

namespace gangway::apiserver::cells {

inline constexpr std::string_view kNone = "<none>";
inline constexpr std::string_view kUnset = "<unset>";

using json::array_at;
using json::bool_at;
using json::int_at;
using json::members_at;
using json::Path;

inline std::string text_at(const json::Value& object, Path path, std::string_view otherwise = "") {
  auto text = json::string_at(object, path);
  return std::string(text.empty() ? otherwise : text);
}

// "a,b,c" of what `text_of` makes of each element.
template <class Container, class TextOf>
std::string joined(const Container& elements, TextOf text_of, std::string_view separator = ",") {
  std::string text;
  bool first = true;
  for (const auto& element : elements) {
    if (!first) text += separator;
    first = false;
    text += text_of(element);
  }
  return text;
}

inline std::string or_none(std::string text) {
  return text.empty() ? std::string(kNone) : text;
}

// "a=b,c in (d,e)" of a LabelSelector, "<none>" when it is empty.
std::string selector_text(const json::Value* selector);

}  // namespace gangway::apiserver::cells
