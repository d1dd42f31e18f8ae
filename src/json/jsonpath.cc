#include "json/jsonpath.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace gangway::json {

class JsonPathParser {
 public:
  using Step = JsonPath::Step;

  explicit JsonPathParser(std::string_view text) : text_(text) {}

  Result<std::vector<Step>> parse() {
    GW_TRY(std::vector<Step> steps, parse_steps(false));
    if (at_ != text_.size()) return error("unexpected '" + std::string(1, text_[at_]) + "'");
    return steps;
  }

 private:
  static constexpr int kMaxNesting = 16;

  Error error(const std::string& what) const {
    return bad_request("JSONPath \"" + std::string(text_) + "\": " + what + " at position " + std::to_string(at_ + 1));
  }
  bool at_end() const { return at_ >= text_.size(); }
  bool take(std::string_view token) {
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void skip_spaces() {
    while (!at_end() && text_[at_] == ' ') ++at_;
  }

  // Inside a filter the path ends where the comparison starts.
  Result<std::vector<Step>> parse_steps(bool in_filter) {
    std::vector<Step> steps;
    while (!at_end()) {
      if (take("..")) {
        Step step;
        step.kind = Step::Kind::kDescend;
        steps.push_back(std::move(step));
        if (!at_end() && text_[at_] == '[') continue;
        GW_TRY(Step next, parse_name(in_filter));
        steps.push_back(std::move(next));
      } else if (take(".")) {
        if (at_end() && steps.empty()) break;  // "." alone is the whole document
        if (!at_end() && text_[at_] == '[') continue;
        GW_TRY(Step next, parse_name(in_filter));
        steps.push_back(std::move(next));
      } else if (take("[")) {
        GW_TRY(Step next, parse_bracket());
        steps.push_back(std::move(next));
      } else if (steps.empty() && !in_filter) {
        GW_TRY(Step next, parse_name(in_filter));  // "spec.x" without its first dot
        steps.push_back(std::move(next));
      } else {
        break;
      }
    }
    return steps;
  }

  Result<Step> parse_name(bool in_filter) {
    Step step;
    if (take("*")) {
      step.kind = Step::Kind::kAll;
      return step;
    }
    const std::string_view stops = in_filter ? std::string_view(".[]=!<>() ") : std::string_view(".[](){} ");
    while (!at_end() && stops.find(text_[at_]) == std::string_view::npos) {
      if (text_[at_] == '\\') {
        ++at_;
        if (at_end()) return error("a backslash needs a character behind it");
      }
      step.field += text_[at_++];
    }
    if (step.field.empty()) return error("a field name is missing");
    return step;
  }

  Result<std::string> parse_quoted() {
    const char quote = text_[at_++];
    std::string text;
    while (!at_end() && text_[at_] != quote) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      text += text_[at_++];
    }
    if (at_end()) return error("a quote is not closed");
    ++at_;
    return text;
  }

  std::optional<std::int64_t> parse_integer() {
    std::int64_t number = 0;
    const char* begin = text_.data() + at_;
    const auto [end, code] = std::from_chars(begin, text_.data() + text_.size(), number);
    if (code != std::errc()) return std::nullopt;
    at_ += static_cast<std::size_t>(end - begin);
    return number;
  }

  Result<Step> close_bracket(Step step) {
    skip_spaces();
    if (!take("]")) return error("']' is missing");
    return step;
  }

  Result<Step> parse_bracket() {
    skip_spaces();
    Step step;
    if (take("*")) {
      step.kind = Step::Kind::kAll;
      return close_bracket(std::move(step));
    }
    if (take("?(")) return parse_filter();
    if (!at_end() && (text_[at_] == '\'' || text_[at_] == '"')) {
      GW_TRY(step.field, parse_quoted());
      return close_bracket(std::move(step));
    }
    const std::optional<std::int64_t> first = parse_integer();
    if (!take(":")) {
      if (!first) return error("expected a quoted name, an index, a slice, '*' or '?('");
      step.kind = Step::Kind::kIndex;
      step.index = *first;
      return close_bracket(std::move(step));
    }
    step.kind = Step::Kind::kSlice;
    step.slice.begin = first;
    step.slice.end = parse_integer();
    if (take(":")) step.slice.step = parse_integer().value_or(1);
    if (step.slice.step <= 0) return error("the step of a slice must be positive");
    return close_bracket(std::move(step));
  }

  Result<Step> parse_filter() {
    if (++nesting_ > kMaxNesting) return error("filters are nested too deep");
    Step step;
    step.kind = Step::Kind::kFilter;
    skip_spaces();
    if (!take("@")) return error("a filter must start with '@'");
    GW_TRY(step.operand, parse_steps(true));
    skip_spaces();
    using Compare = JsonPath::Compare;
    constexpr std::pair<std::string_view, Compare> kOperators[] = {
        {"==", Compare::kEqual},        {"!=", Compare::kNotEqual}, {"<=", Compare::kLessEqual},
        {">=", Compare::kGreaterEqual}, {"<", Compare::kLess},      {">", Compare::kGreater}};
    for (const auto& [token, compare] : kOperators) {
      if (!take(token)) continue;
      step.compare = compare;
      GW_TRY(step.literal, parse_literal());
      break;
    }
    skip_spaces();
    if (!take(")")) return error("')' is missing");
    --nesting_;
    return close_bracket(std::move(step));
  }

  Result<Value> parse_literal() {
    skip_spaces();
    if (!at_end() && (text_[at_] == '\'' || text_[at_] == '"')) {
      GW_TRY(const std::string text, parse_quoted());
      return Value(text);
    }
    const std::size_t begin = at_;
    while (!at_end() && text_[at_] != ')' && text_[at_] != ' ') ++at_;
    Result<Value> value = json::parse(text_.substr(begin, at_ - begin));
    if (!value || value->is_structured()) {
      at_ = begin;
      return error("expected a quoted text, a number, true, false or null");
    }
    return value;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int nesting_ = 0;
};

Result<JsonPath> JsonPath::parse(std::string_view text) {
  if (text.size() >= 2 && text.front() == '{' && text.back() == '}') text = text.substr(1, text.size() - 2);
  if (!text.empty() && text.front() == '$') text.remove_prefix(1);
  JsonPath path;
  GW_TRY(path.steps_, JsonPathParser(text).parse());
  return path;
}

std::vector<const Value*> JsonPath::find(const Value& root) const {
  std::vector<const Value*> found;
  walk(steps_, 0, root, found);
  return found;
}

void JsonPath::walk(const std::vector<Step>& steps, std::size_t at, const Value& value,
                    std::vector<const Value*>& found) {
  if (at == steps.size()) return found.push_back(&value);
  const Step& step = steps[at];
  const Array* array = value.if_array();
  const Object* object = value.if_object();
  switch (step.kind) {
    case Step::Kind::kField:
      if (const Value* member = object == nullptr ? nullptr : object->if_contains(step.field)) {
        walk(steps, at + 1, *member, found);
      }
      return;
    case Step::Kind::kIndex:
      if (array != nullptr) {
        const auto size = static_cast<std::int64_t>(array->size());
        const std::int64_t index = step.index < 0 ? step.index + size : step.index;
        if (index >= 0 && index < size) walk(steps, at + 1, (*array)[static_cast<std::size_t>(index)], found);
      }
      return;
    case Step::Kind::kSlice:
      if (array != nullptr) take_slice(steps, at, *array, found);
      return;
    case Step::Kind::kDescend:
      return descend(steps, at + 1, value, found);
    case Step::Kind::kAll:
    case Step::Kind::kFilter:
      if (array != nullptr) {
        for (const Value& item : *array)
          if (step.kind == Step::Kind::kAll || holds(step, item)) walk(steps, at + 1, item, found);
      } else if (object != nullptr && step.kind == Step::Kind::kAll) {
        for (const auto& member : *object) walk(steps, at + 1, member.value(), found);
      }
      return;
  }
}

void JsonPath::descend(const std::vector<Step>& steps, std::size_t at, const Value& value,
                       std::vector<const Value*>& found) {
  walk(steps, at, value, found);
  if (const Object* object = value.if_object()) {
    for (const auto& member : *object) descend(steps, at, member.value(), found);
  } else if (const Array* array = value.if_array()) {
    for (const Value& item : *array) descend(steps, at, item, found);
  }
}

void JsonPath::take_slice(const std::vector<Step>& steps, std::size_t at, const Array& array,
                          std::vector<const Value*>& found) {
  const Slice& slice = steps[at].slice;
  const auto size = static_cast<std::int64_t>(array.size());
  const auto bounded = [size](std::int64_t index) {
    return std::clamp<std::int64_t>(index < 0 ? index + size : index, 0, size);
  };
  const std::int64_t end = bounded(slice.end.value_or(size));
  std::int64_t index = bounded(slice.begin.value_or(0));
  while (index < end) {
    walk(steps, at + 1, array[static_cast<std::size_t>(index)], found);
    if (slice.step >= size) break;
    index += slice.step;
  }
}

bool JsonPath::holds(const Step& filter, const Value& item) {
  std::vector<const Value*> found;
  walk(filter.operand, 0, item, found);
  if (filter.compare == Compare::kExists) return !found.empty();
  if (found.empty()) return false;
  const Value& value = *found.front();
  if (filter.compare == Compare::kEqual) return equal(value, filter.literal);
  if (filter.compare == Compare::kNotEqual) return !equal(value, filter.literal);
  int order = 0;
  if (value.is_number() && filter.literal.is_number()) {
    const auto a = value.to_number<double>(), b = filter.literal.to_number<double>();
    order = a < b ? -1 : a > b ? 1 : 0;
  } else if (value.is_string() && filter.literal.is_string()) {
    order = value.get_string().compare(filter.literal.get_string());
  } else {
    return false;
  }
  switch (filter.compare) {
    case Compare::kLess:
      return order < 0;
    case Compare::kLessEqual:
      return order <= 0;
    case Compare::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

}  // namespace gangway::json
