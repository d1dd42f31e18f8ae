#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>

#include "api/selector.h"
#include "base/names.h"
#include "base/quote.h"

namespace gangway::api {
namespace {

using Operator = LabelSelector::Operator;
using Requirement = LabelSelector::Requirement;

const std::string* find_label(const StringPairs& labels, std::string_view key) {
  auto at =
      std::lower_bound(labels.begin(), labels.end(), key, [](const auto& pair, auto k) { return pair.first < k; });
  return at != labels.end() && at->first == key ? &at->second : nullptr;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool takes_values(Operator op) {
  return op != Operator::kExists && op != Operator::kDoesNotExist;
}

std::string joined(const names::Messages& messages) {
  std::string text;
  for (const auto& message : messages) text += text.empty() ? message : "; " + message;
  return text;
}

std::string invalid(std::string_view field, std::string_view value, std::string_view detail) {
  return fmt::format("{}: Invalid value: {}: {}", field, quoted(value), detail);
}

// The requirement, or all that is wrong with it: one message plain, several in brackets.
Result<Requirement> make_requirement(std::string key, Operator op, std::vector<std::string> values) {
  std::vector<std::string> mistakes;
  if (auto messages = names::check_qualified_name(key); !messages.empty()) {
    mistakes.push_back(invalid("key", key, joined(messages)));
  }
  Requirement requirement{.key = std::move(key), .op = op, .values = std::move(values), .bound = 0};
  bool is_set = op == Operator::kIn || op == Operator::kNotIn;
  if (is_set && requirement.values.empty()) {
    mistakes.emplace_back("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty");
  }
  if (!takes_values(op) && !requirement.values.empty()) {
    mistakes.emplace_back("values: Invalid value: values set must be empty for exists and does not exist");
  }
  if (op == Operator::kGreaterThan || op == Operator::kLessThan) {
    if (auto bound = parse_integer(requirement.values.front())) {
      requirement.bound = *bound;
    } else {
      mistakes.push_back(
          invalid("values[0]", requirement.values.front(), "for 'Gt', 'Lt' operators, the value must be an integer"));
    }
  }
  for (std::size_t i = 0; i < requirement.values.size(); ++i) {
    if (auto messages = names::check_label_value(requirement.values[i]); !messages.empty()) {
      mistakes.push_back(
          invalid(fmt::format("values[{}][{}]", i, requirement.key), requirement.values[i], joined(messages)));
    }
  }
  if (mistakes.empty()) return requirement;
  if (mistakes.size() == 1) return bad_request(std::move(mistakes.front()));
  return bad_request(fmt::format("[{}]", fmt::join(mistakes, ", ")));
}

void sort_and_deduplicate(std::vector<std::string>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

struct Token {
  enum class Type : std::uint8_t { kEnd, kWord, kSymbol };
  Type type = Type::kEnd;
  std::string_view text;

  bool is(std::string_view symbol) const { return type == Type::kSymbol && text == symbol; }
  bool is_word() const { return type == Type::kWord; }
  bool is_end() const { return type == Type::kEnd; }
};

// Splits the text into words and operators. "in" and "notin" are words here; where they are operators, the parser asks.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : rest_(text.substr(0, text.find('\0'))) {}

  Token next() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
    if (rest_.empty()) return {};
    if (kSymbols.find(rest_.front()) == std::string_view::npos) {
      return take(rest_.substr(0, rest_.find_first_of("=!(),>< \t\r\n")).size(), Token::Type::kWord);
    }
    bool is_double = rest_.starts_with("==") || rest_.starts_with("!=");
    return take(is_double ? 2 : 1, Token::Type::kSymbol);
  }

 private:
  static constexpr std::string_view kSymbols = "=!(),><";

  Token take(std::size_t length, Token::Type type) {
    Token token{type, rest_.substr(0, length)};
    rest_.remove_prefix(length);
    return token;
  }

  std::string_view rest_;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) { advance(); }

  Result<std::vector<Requirement>> parse() {
    std::vector<Requirement> requirements;
    if (token_.is_end()) return requirements;
    if (!starts_requirement()) return expected(", expected: !, identifier, or 'end of string'");
    while (true) {
      auto requirement = parse_requirement();
      if (!requirement) return std::move(requirement).error().within("unable to parse requirement");
      requirements.push_back(std::move(*requirement));
      if (token_.is_end()) return requirements;
      if (!token_.is(",")) return expected(", expected: ',' or 'end of string'");
      advance();
      if (!starts_requirement()) return expected(", expected: identifier after ','");
    }
  }

 private:
  void advance() { token_ = lexer_.next(); }
  bool starts_requirement() const { return token_.is_word() || token_.is("!"); }
  Error expected(std::string_view what) const { return bad_request(fmt::format("found '{}'{}", token_.text, what)); }

  Result<Requirement> parse_requirement() {
    bool negated = token_.is("!");
    if (negated) advance();
    if (!token_.is_word()) return expected(", expected: identifier");
    std::string key(token_.text);
    if (auto messages = names::check_qualified_name(key); !messages.empty()) {
      return bad_request(invalid("<nil>", key, joined(messages)));
    }
    advance();
    if (negated) return make_requirement(std::move(key), Operator::kDoesNotExist, {});
    if (token_.is_end() || token_.is(",")) return make_requirement(std::move(key), Operator::kExists, {});
    GW_TRY(auto op, parse_operator());
    if (op == Operator::kIn || op == Operator::kNotIn) {
      GW_TRY(auto values, parse_set());
      return make_requirement(std::move(key), op, std::move(values));
    }
    GW_TRY(auto value, parse_value());
    return make_requirement(std::move(key), op, {std::move(value)});
  }

  Result<Operator> parse_operator() {
    static constexpr std::pair<std::string_view, Operator> kOperators[] = {
        {"=", Operator::kEquals},   {"==", Operator::kDoubleEquals}, {"!=", Operator::kNotEquals},
        {"in", Operator::kIn},      {"notin", Operator::kNotIn},     {">", Operator::kGreaterThan},
        {"<", Operator::kLessThan},
    };
    for (const auto& [text, op] : kOperators) {
      if (token_.text == text) {
        advance();
        return op;
      }
    }
    return expected(", expected: in, notin, =, ==, !=, gt, lt");
  }

  Result<std::string> parse_value() {
    if (token_.is_end() || token_.is(",")) return std::string();
    if (!token_.is_word()) return expected(", expected: identifier");
    std::string value(token_.text);
    advance();
    return value;
  }

  // "(a,b)"; between commas nothing may stand, which means the empty value.
  Result<std::vector<std::string>> parse_set() {
    if (!token_.is("(")) return expected(" expected: '('");
    advance();
    std::vector<std::string> values;
    if (token_.is(")")) {
      advance();
      return std::vector<std::string>{""};
    }
    if (!token_.is_word() && !token_.is(",")) return expected(", expected: ',', ')' or identifier");
    while (true) {
      if (token_.is_word()) {
        values.emplace_back(token_.text);
        advance();
        if (!token_.is(",") && !token_.is(")")) return expected(", expected: ',' or ')'");
      } else if (token_.is(",")) {
        if (values.empty()) values.emplace_back();
      } else {
        return expected(", expected: ',', or identifier");
      }
      if (token_.is(",")) {
        advance();
        if (token_.is(",") || token_.is(")")) values.emplace_back();
      }
      if (token_.is(")")) break;
    }
    advance();
    sort_and_deduplicate(values);
    return values;
  }

  Lexer lexer_;
  Token token_;
};

std::string_view text_of(Operator op) {
  switch (op) {
    case Operator::kEquals:
      return "=";
    case Operator::kDoubleEquals:
      return "==";
    case Operator::kNotEquals:
      return "!=";
    case Operator::kIn:
      return " in ";
    case Operator::kNotIn:
      return " notin ";
    case Operator::kGreaterThan:
      return ">";
    case Operator::kLessThan:
      return "<";
    case Operator::kExists:
    case Operator::kDoesNotExist:
      break;
  }
  return "";
}

std::string_view string_or_empty(const json::Value* value) {
  if (value == nullptr || !value->is_string()) return {};
  return {value->get_string().data(), value->get_string().size()};
}

std::vector<std::string> strings_of(const json::Value* list) {
  std::vector<std::string> values;
  if (list == nullptr || !list->is_array()) return values;
  for (const auto& value : list->get_array()) values.emplace_back(string_or_empty(&value));
  return values;
}

std::optional<Operator> expression_operator(std::string_view text) {
  if (text == "In") return Operator::kIn;
  if (text == "NotIn") return Operator::kNotIn;
  if (text == "Exists") return Operator::kExists;
  if (text == "DoesNotExist") return Operator::kDoesNotExist;
  return std::nullopt;
}

void check_expression(const json::Value& expression, const std::string& path, std::vector<Cause>& causes) {
  auto op = string_or_empty(json::find(expression, {"operator"}));
  auto key = string_or_empty(json::find(expression, {"key"}));
  auto values = strings_of(json::find(expression, {"values"}));
  auto known = expression_operator(op);
  if (!known) {
    causes.push_back(
        {"FieldValueInvalid", "Invalid value: " + quoted(op) + ": not a valid selector operator", path + ".operator"});
  } else if (takes_values(*known) && values.empty()) {
    causes.push_back({"FieldValueRequired", "Required value: must be specified when `operator` is 'In' or 'NotIn'",
                      path + ".values"});
  } else if (!takes_values(*known) && !values.empty()) {
    causes.push_back({"FieldValueForbidden",
                      "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                      path + ".values"});
  }
  for (const auto& message : names::check_qualified_name(key)) {
    causes.push_back({"FieldValueInvalid", "Invalid value: " + quoted(key) + ": " + message, path + ".key"});
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (const auto& message : names::check_label_value(values[i])) {
      causes.push_back({"FieldValueInvalid", "Invalid value: " + quoted(values[i]) + ": " + message,
                        fmt::format("{}.values[{}]", path, i)});
    }
  }
}

}  // namespace

bool LabelSelector::Requirement::matches(const StringPairs& labels) const {
  const auto* value = find_label(labels, key);
  switch (op) {
    case Operator::kExists:
      return value != nullptr;
    case Operator::kDoesNotExist:
      return value == nullptr;
    case Operator::kEquals:
    case Operator::kDoubleEquals:
      return value != nullptr && *value == values.front();
    case Operator::kNotEquals:
      return value == nullptr || *value != values.front();
    case Operator::kIn:
      return value != nullptr && std::binary_search(values.begin(), values.end(), *value);
    case Operator::kNotIn:
      return value == nullptr || !std::binary_search(values.begin(), values.end(), *value);
    case Operator::kGreaterThan:
    case Operator::kLessThan:
      break;
  }
  if (value == nullptr) return false;
  auto number = parse_integer(*value);
  return number && (op == Operator::kGreaterThan ? *number > bound : *number < bound);
}

LabelSelector::LabelSelector(std::vector<Requirement> requirements) : requirements_(std::move(requirements)) {
  std::sort(requirements_.begin(), requirements_.end(), [](const auto& a, const auto& b) {
    return std::tie(a.key, a.op, a.values) < std::tie(b.key, b.op, b.values);
  });
}

LabelSelector LabelSelector::nothing() {
  LabelSelector selector;
  selector.nothing_ = true;
  return selector;
}

bool LabelSelector::matches(const StringPairs& labels) const {
  return !nothing_ && std::all_of(requirements_.begin(), requirements_.end(),
                                  [&](const auto& requirement) { return requirement.matches(labels); });
}

std::string LabelSelector::to_string() const {
  std::string text;
  for (const auto& requirement : requirements_) {
    if (!text.empty()) text += ',';
    if (requirement.op == Operator::kDoesNotExist) text += '!';
    text += requirement.key;
    text += text_of(requirement.op);
    bool is_set = requirement.op == Operator::kIn || requirement.op == Operator::kNotIn;
    auto values = fmt::format("{}", fmt::join(requirement.values, ","));
    text += is_set ? "(" + values + ")" : values;
  }
  return text;
}

Result<LabelSelector> parse_label_selector(std::string_view text) {
  if (text.size() > kMaxSelectorLength) {
    return bad_request(
        fmt::format("label selector is too long: {} bytes, at most {} are allowed", text.size(), kMaxSelectorLength));
  }
  GW_TRY(auto requirements, Parser(text).parse());
  return LabelSelector(std::move(requirements));
}

Result<LabelSelector> read_label_selector(const json::Value& selector) {
  if (!selector.is_object()) return LabelSelector::nothing();
  std::vector<Requirement> requirements;
  if (const auto* labels = json::find(selector, {"matchLabels"}); labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->get_object()) {
      GW_TRY(auto requirement,
             make_requirement(std::string(key), Operator::kEquals, {std::string(string_or_empty(&value))}));
      requirements.push_back(std::move(requirement));
    }
  }
  if (const auto* list = json::find(selector, {"matchExpressions"}); list != nullptr && list->is_array()) {
    for (const auto& expression : list->get_array()) {
      auto op = string_or_empty(json::find(expression, {"operator"}));
      auto known = expression_operator(op);
      if (!known) return bad_request(quoted(op) + " is not a valid label selector operator");
      auto values = strings_of(json::find(expression, {"values"}));
      sort_and_deduplicate(values);
      GW_TRY(auto requirement, make_requirement(std::string(string_or_empty(json::find(expression, {"key"}))), *known,
                                                std::move(values)));
      requirements.push_back(std::move(requirement));
    }
  }
  return LabelSelector(std::move(requirements));
}

LabelSelector read_label_map(const json::Value& labels) {
  if (!labels.is_object() || labels.get_object().empty()) return LabelSelector::nothing();
  std::vector<Requirement> requirements;
  for (const auto& [key, value] : labels.get_object()) {
    requirements.push_back({.key = std::string(key),
                            .op = Operator::kEquals,
                            .values = {std::string(string_or_empty(&value))},
                            .bound = 0});
  }
  return LabelSelector(std::move(requirements));
}

std::vector<Cause> check_label_selector(const json::Value& selector, std::string_view path) {
  std::vector<Cause> causes;
  if (const auto* labels = json::find(selector, {"matchLabels"}); labels != nullptr && labels->is_object()) {
    auto field = fmt::format("{}.matchLabels", path);
    for (const auto& [key, value] : labels->get_object()) {
      for (const auto& message : names::check_qualified_name({key.data(), key.size()})) {
        causes.push_back(
            {"FieldValueInvalid", "Invalid value: " + quoted({key.data(), key.size()}) + ": " + message, field});
      }
      auto text = string_or_empty(&value);
      for (const auto& message : names::check_label_value(text)) {
        causes.push_back({"FieldValueInvalid", "Invalid value: " + quoted(text) + ": " + message, field});
      }
    }
  }
  if (const auto* list = json::find(selector, {"matchExpressions"}); list != nullptr && list->is_array()) {
    std::size_t index = 0;
    for (const auto& expression : list->get_array()) {
      check_expression(expression, fmt::format("{}.matchExpressions[{}]", path, index++), causes);
    }
  }
  return causes;
}

}  // namespace gangway::api
