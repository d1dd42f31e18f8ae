// Generated documents for the property tests of this folder. Keys and strings come from a small alphabet, so that two
// documents often meet in the same fields.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/value.h"

namespace gangway::json {

// The parsed text; a test's own typing mistake fails the test.
inline Value json_of(std::string_view text) {
  Result<Value> value = parse(text);
  if (!value) {
    ADD_FAILURE() << value.error().message << " in " << text;
    return nullptr;
  }
  return std::move(*value);
}

inline rc::Gen<Value> gen_scalar() {
  return rc::gen::oneOf(
      rc::gen::just(Value(nullptr)), rc::gen::map(rc::gen::arbitrary<bool>(), [](bool b) { return Value(b); }),
      rc::gen::map(rc::gen::arbitrary<std::int64_t>(), [](std::int64_t n) { return Value(n); }),
      rc::gen::map(rc::gen::inRange(0, 4), [](int n) { return Value(n); }),
      rc::gen::map(rc::gen::arbitrary<double>(), [](double d) { return Value(std::isfinite(d) ? d : 0.5); }),
      rc::gen::map(rc::gen::container<std::string>(rc::gen::inRange('\x01', '\x7f')),
                   [](const std::string& s) { return Value(s); }));
}

inline rc::Gen<std::string> gen_key() {
  return rc::gen::element<std::string>("a", "b", "c", "d/e", "f~g", "name", "x.y", "");
}

inline rc::Gen<Value> gen_value(int depth) {
  if (depth == 0) return gen_scalar();
  const auto members = rc::gen::container<std::vector<std::pair<std::string, Value>>>(
      rc::gen::pair(gen_key(), rc::gen::lazy([depth] { return gen_value(depth - 1); })));
  const auto items = rc::gen::container<std::vector<Value>>(rc::gen::lazy([depth] { return gen_value(depth - 1); }));
  return rc::gen::weightedOneOf<Value>(
      {{2, gen_scalar()},
       {3, rc::gen::map(rc::gen::scale(0.1, members),
                        [](const std::vector<std::pair<std::string, Value>>& pairs) {
                          Object object;
                          for (const auto& [key, value] : pairs) object.insert_or_assign(key, value);
                          return Value(std::move(object));
                        })},
       {1, rc::gen::map(rc::gen::scale(0.1, items),
                        [](const std::vector<Value>& values) { return Value(Array(values.begin(), values.end())); })}});
}

}  // namespace gangway::json

namespace rc {
template <>
struct Arbitrary<gangway::json::Value> {
  static Gen<gangway::json::Value> arbitrary() { return gangway::json::gen_value(3); }
};
}  // namespace rc
