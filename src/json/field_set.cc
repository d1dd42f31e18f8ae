#include "json/field_set.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "base/check.h"

namespace gangway::json {
namespace {

// Reads past a quoted string without escapes; nullopt for anything else.
std::optional<std::size_t> skip_plain_string(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != '"') return std::nullopt;
  for (++at; at < text.size(); ++at) {
    if (text[at] == '"') return at + 1;
    if (text[at] == '\\' || static_cast<unsigned char>(text[at]) < 0x20) return std::nullopt;
  }
  return std::nullopt;
}

// Reads past a string without escapes, a plain integer, true or false.
std::optional<std::size_t> skip_plain_scalar(std::string_view text, std::size_t at) {
  if (at < text.size() && text[at] == '"') return skip_plain_string(text, at);
  for (const std::string_view word : {std::string_view("true"), std::string_view("false")}) {
    if (text.substr(at, word.size()) == word) return at + word.size();
  }
  const std::size_t first = at < text.size() && text[at] == '-' ? at + 1 : at;
  std::size_t end = first;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  const bool leading_zero = end > first + 1 && text[first] == '0';
  if (end == first || end - first > 18 || leading_zero || text.substr(at, end - at) == "-0") return std::nullopt;
  return end;
}

// Most keys come from our own writer; telling that they are in canonical form is much cheaper than parsing them.
bool is_canonical_key(std::string_view text) {
  if (text.size() < 2 || text[0] != '{') return false;
  std::string_view last_name;
  for (std::size_t at = 1;;) {
    const std::optional<std::size_t> name_end = skip_plain_string(text, at);
    if (!name_end || *name_end >= text.size() || text[*name_end] != ':') return false;
    const std::string_view name = text.substr(at, *name_end - at);
    if (name <= last_name) return false;
    last_name = name;
    const std::optional<std::size_t> value_end = skip_plain_scalar(text, *name_end + 1);
    if (!value_end || *value_end >= text.size()) return false;
    if (text[*value_end] == '}') return *value_end + 1 == text.size();
    if (text[*value_end] != ',') return false;
    at = *value_end + 1;
  }
}

bool is_canonical_scalar(std::string_view text) {
  return skip_plain_scalar(text, 0) == text.size();
}

template <class T>
std::strong_ordering order(const T& a, const T& b) {
  return a < b ? std::strong_ordering::less : b < a ? std::strong_ordering::greater : std::strong_ordering::equal;
}

// Numbers before strings before booleans before lists before objects before null.
int rank(const Value& value) {
  switch (value.kind()) {
    case Kind::string:
      return 1;
    case Kind::bool_:
      return 2;
    case Kind::array:
      return 3;
    case Kind::object:
      return 4;
    case Kind::null:
      return 5;
    default:
      return 0;
  }
}

std::strong_ordering compare_scalars(const Value& a, const Value& b) {
  if (const int ra = rank(a), rb = rank(b); ra != rb) return order(ra, rb);
  if (a.is_int64() && b.is_int64()) return order(a.get_int64(), b.get_int64());
  if (a.is_number()) return order(a.to_number<double>(), b.to_number<double>());
  if (a.is_string()) return order(std::string_view(a.get_string()), std::string_view(b.get_string()));
  if (a.is_bool()) return order(a.get_bool(), b.get_bool());
  return serialize(a) <=> serialize(b);
}

std::strong_ordering compare_parsed(std::string_view a, std::string_view b) {
  const Result<Value> va = parse(a), vb = parse(b);
  GW_CHECK(va && vb);  // the text of an element is always canonical JSON
  const Object* left = va->if_object();
  const Object* right = vb->if_object();
  if (left == nullptr || right == nullptr) return compare_scalars(*va, *vb);
  auto l = left->begin();
  auto r = right->begin();
  for (; l != left->end() && r != right->end(); ++l, ++r) {
    if (l->key() != r->key()) return order(std::string_view(l->key()), std::string_view(r->key()));
    if (const auto result = compare_scalars(l->value(), r->value()); result != 0) return result;
  }
  return order(left->size(), right->size());
}

// The integer that position `at` is inside of or right behind; nullopt when that is something else.
std::optional<std::int64_t> integer_around(std::string_view text, std::size_t at) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || c == '-'; };
  std::size_t begin = at;
  while (begin > 0 && is_digit(text[begin - 1])) --begin;
  // Digits behind a point or an exponent belong to a larger number.
  if (begin > 0 && text[begin - 1] != ':' && text[begin - 1] != ',') return std::nullopt;
  std::int64_t number = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + begin, last, number);
  if (error != std::errc() || (end != last && *end != ',' && *end != '}')) return std::nullopt;
  return number;
}

// Orders canonical JSON as its values are ordered. Two plain strings with a common start, the usual case, are decided
// at their first difference, and so are two integers; anything else is parsed.
std::strong_ordering compare_json(std::string_view a, std::string_view b) {
  const std::size_t common =
      static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  if (common == a.size() && common == b.size()) return std::strong_ordering::equal;
  bool in_string = false;
  for (std::size_t i = 0; i < common; ++i) {
    if (a[i] == '\\') return compare_parsed(a, b);
    if (a[i] == '"') in_string = !in_string;
  }
  if (!in_string) {
    const std::optional<std::int64_t> left = integer_around(a, common), right = integer_around(b, common);
    return left && right ? order(*left, *right) : compare_parsed(a, b);
  }
  if (common >= a.size() || common >= b.size() || a[common] == '\\' || b[common] == '\\') {
    return compare_parsed(a, b);
  }
  // A quote ends the string, so that it is the shorter one.
  if (a[common] == '"' || b[common] == '"') {
    return a[common] == '"' ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  return order(static_cast<unsigned char>(a[common]), static_cast<unsigned char>(b[common]));
}

Result<PathElement> parse_key(std::string_view text) {
  if (is_canonical_key(text)) return PathElement{PathElement::Kind::kKey, std::string(text)};
  GW_TRY(const Value parsed, parse(text, {.max_bytes = 1 << 20, .max_depth = 8}));
  const Object* object = parsed.if_object();
  if (object == nullptr) return bad_request("\"k:" + std::string(text) + "\" must hold an object");
  std::vector<std::pair<std::string_view, const Value*>> fields;
  for (const auto& member : *object) fields.emplace_back(member.key(), &member.value());
  return PathElement::key(std::move(fields));
}

void visit_members(const FieldSet& set, FieldPath& path, const std::function<void(const FieldPath&)>& visit) {
  for (const FieldSet::Node& node : set.nodes()) {
    if (!node.member) continue;
    path.push_back(node.element);
    visit(path);
    path.pop_back();
  }
  for (const FieldSet::Node& node : set.nodes()) {
    if (node.children.empty()) continue;
    path.push_back(node.element);
    visit_members(node.children, path, visit);
    path.pop_back();
  }
}

// `with_self`: the path that ends here is a member too.
Object object_of(const FieldSet& set, bool with_self, const boost::json::storage_ptr& storage) {
  Object object(storage);
  object.reserve(set.nodes().size() + (with_self ? 1 : 0));
  if (with_self) object.emplace(".", Object(storage));
  std::string key;
  for (const FieldSet::Node& node : set.nodes()) {
    key.clear();
    node.element.append_to(key);
    object.emplace(key, object_of(node.children, node.member && !node.children.empty(), storage));
  }
  return object;
}

constexpr int kMaxDepth = 128;

Result<FieldSet> parse_set(const Value& fields, bool& is_member, int depth);

Result<void> parse_node(std::string_view key, const Value& value, int depth, FieldSet& set) {
  if (key.size() < 2 || key[1] != ':') return bad_request("\"" + std::string(key) + "\" is not a path element");
  if (std::string_view("fkvi").find(key[0]) == std::string_view::npos) return {};
  GW_TRY(PathElement element, PathElement::parse(key));
  bool is_member = false;
  GW_TRY(FieldSet children, parse_set(value, is_member, depth + 1));
  FieldSet::Node& node = set.at(std::move(element));
  node.member |= is_member;
  node.children = std::move(children);
  return {};
}

Result<FieldSet> parse_set(const Value& fields, bool& is_member, int depth) {
  const Object* object = fields.if_object();
  if (object == nullptr) return bad_request("fieldsV1 must consist of objects");
  if (depth > kMaxDepth) return bad_request("fieldsV1 is nested too deep");
  FieldSet set;
  for (const auto& member : *object) {
    if (member.key() == ".") {
      is_member = true;
      continue;
    }
    GW_CHECKED(parse_node(member.key(), member.value(), depth, set));
  }
  if (set.empty()) is_member = true;
  return set;
}

}  // namespace

PathElement PathElement::value(const Value& value) {
  return {Kind::kValue, serialize(value)};
}

PathElement PathElement::key(std::vector<std::pair<std::string_view, const Value*>> fields) {
  std::sort(fields.begin(), fields.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text = "{";
  for (const auto& [name, field_value] : fields) {
    if (text.size() > 1) text += ',';
    append_quoted(name, text);
    text += ':';
    serialize_to(*field_value, text);
  }
  text += '}';
  return {Kind::kKey, std::move(text)};
}

Result<PathElement> PathElement::parse(std::string_view text) {
  if (text.size() < 2 || text[1] != ':') return bad_request("\"" + std::string(text) + "\" is not a path element");
  const std::string_view rest = text.substr(2);
  switch (text[0]) {
    case 'f':
      return field(rest);
    case 'k':
      return parse_key(rest);
    case 'v': {
      if (is_canonical_scalar(rest)) return PathElement{Kind::kValue, std::string(rest)};
      GW_TRY(const Value parsed, json::parse(rest, {.max_bytes = 1 << 20, .max_depth = 8}));
      return value(parsed);
    }
    case 'i': {
      std::uint32_t index = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
      if (error != std::errc() || end != rest.data() + rest.size()) break;
      return PathElement{Kind::kIndex, std::to_string(index)};
    }
    default:
      break;
  }
  return bad_request("\"" + std::string(text) + "\" is not a path element");
}

void PathElement::append_to(std::string& out) const {
  constexpr char kLetters[] = "fkvi";
  out += kLetters[static_cast<std::size_t>(kind)];
  out += ':';
  out += text;
}

std::string PathElement::to_string() const {
  std::string out;
  append_to(out);
  return out;
}

void PathElement::append_readable(std::string& out) const {
  switch (kind) {
    case Kind::kField:
      out += '.';
      out += text;
      return;
    case Kind::kKey: {
      const Result<Value> fields = json::parse(text);
      GW_CHECK(fields);
      out += '[';
      for (const auto& member : fields->get_object()) {
        if (out.back() != '[') out += ',';
        out += std::string_view(member.key());
        out += '=';
        serialize_to(member.value(), out);
      }
      out += ']';
      return;
    }
    case Kind::kValue:
      out += "[=" + text + ']';
      return;
    case Kind::kIndex:
      out += '[' + text + ']';
  }
}

std::strong_ordering PathElement::operator<=>(const PathElement& other) const {
  if (kind != other.kind) return kind <=> other.kind;
  if (kind == Kind::kField) return text.compare(other.text) <=> 0;
  return compare_json(text, other.text);
}

std::string to_string(const FieldPath& path) {
  std::string out;
  for (const PathElement& element : path) element.append_readable(out);
  return out;
}

FieldSet FieldSet::of_fields(std::initializer_list<std::initializer_list<std::string_view>> paths) {
  FieldSet set;
  for (const auto& names : paths) {
    FieldPath path;
    for (const std::string_view name : names) path.push_back(PathElement::field(name));
    set.insert(path);
  }
  return set;
}

Result<FieldSet> FieldSet::parse(const Value& fields_v1) {
  bool is_member = false;
  return parse_set(fields_v1, is_member, 0);
}

Value FieldSet::to_value(const boost::json::storage_ptr& storage) const {
  return object_of(*this, false, storage);
}

void FieldSet::reserve(std::size_t nodes) {
  nodes_.reserve(nodes);
}

std::size_t FieldSet::size() const {
  std::size_t count = 0;
  for (const Node& node : nodes_) count += (node.member ? 1 : 0) + node.children.size();
  return count;
}

const FieldSet::Node* FieldSet::find(const PathElement& element) const {
  const auto found = std::lower_bound(nodes_.begin(), nodes_.end(), element,
                                      [](const Node& node, const PathElement& e) { return node.element < e; });
  return found != nodes_.end() && found->element == element ? &*found : nullptr;
}

FieldSet::Node& FieldSet::at(PathElement element) {
  if (nodes_.empty() || nodes_.back().element < element)
    return nodes_.emplace_back(Node{std::move(element), false, {}});
  const auto found = std::lower_bound(nodes_.begin(), nodes_.end(), element,
                                      [](const Node& node, const PathElement& e) { return node.element < e; });
  if (found->element == element) return *found;
  return *nodes_.insert(found, Node{std::move(element), false, {}});
}

void FieldSet::append(Node node) {
  nodes_.push_back(std::move(node));
}

bool FieldSet::has(std::span<const PathElement> path) const {
  const FieldSet* set = this;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Node* node = set->find(path[i]);
    if (node == nullptr) return false;
    if (i + 1 == path.size()) return node->member;
    set = &node->children;
  }
  return false;
}

void FieldSet::insert(std::span<const PathElement> path) {
  FieldSet* set = this;
  for (std::size_t i = 0; i < path.size(); ++i) {
    Node& node = set->at(path[i]);
    if (i + 1 == path.size()) node.member = true;
    set = &node.children;
  }
}

bool FieldSet::overlaps(const FieldSet& other) const {
  if (empty() || other.empty()) return false;
  auto left = nodes_.begin();
  auto right = other.nodes_.begin();
  while (left != nodes_.end() && right != other.nodes_.end()) {
    const auto order = left->element <=> right->element;
    if (order == 0 && ((left->member && right->member) || left->children.overlaps(right->children))) return true;
    if (order <= 0) ++left;
    if (order >= 0) ++right;
  }
  return false;
}

bool FieldSet::overlaps_encoded(const Value& fields_v1) const {
  const Object* encoded = fields_v1.if_object();
  if (encoded == nullptr) return false;
  std::string key;
  for (const Node& node : nodes_) {
    key.clear();
    node.element.append_to(key);
    const Value* below = encoded->if_contains(key);
    if (below == nullptr) continue;
    const Object* children = below->if_object();
    const bool is_member = children != nullptr && (children->empty() || children->contains("."));
    if ((node.member && is_member) || node.children.overlaps_encoded(*below)) return true;
  }
  return false;
}

void FieldSet::unite(FieldSet other) {
  if (empty()) std::swap(nodes_, other.nodes_);
  if (other.empty()) return;
  std::vector<Node> all;
  all.reserve(nodes_.size() + other.nodes_.size());
  auto mine = nodes_.begin();
  for (Node& theirs : other.nodes_) {
    while (mine != nodes_.end() && mine->element < theirs.element) all.push_back(std::move(*mine++));
    if (mine == nodes_.end() || mine->element != theirs.element) {
      all.push_back(std::move(theirs));
      continue;
    }
    mine->member |= theirs.member;
    mine->children.unite(std::move(theirs.children));
    all.push_back(std::move(*mine++));
  }
  std::move(mine, nodes_.end(), std::back_inserter(all));
  nodes_ = std::move(all);
}

FieldSet FieldSet::intersection(const FieldSet& other) const {
  FieldSet result;
  auto theirs = other.nodes_.begin();
  for (const Node& mine : nodes_) {
    while (theirs != other.nodes_.end() && theirs->element < mine.element) ++theirs;
    if (theirs == other.nodes_.end()) break;
    if (theirs->element != mine.element) continue;
    Node node{mine.element, mine.member && theirs->member, mine.children.intersection(theirs->children)};
    if (!node.empty()) result.append(std::move(node));
  }
  return result;
}

template <class Change>
void FieldSet::change_shared(const FieldSet& other, const Change& change) {
  bool emptied = false;
  auto mine = nodes_.begin();
  for (const Node& theirs : other.nodes_) {
    mine = std::lower_bound(mine, nodes_.end(), theirs.element,
                            [](const Node& node, const PathElement& element) { return node.element < element; });
    if (mine == nodes_.end()) break;
    if (mine->element != theirs.element) continue;
    change(*mine, theirs);
    emptied |= mine->empty();
  }
  if (emptied) std::erase_if(nodes_, [](const Node& node) { return node.empty(); });
}

void FieldSet::subtract(const FieldSet& other) {
  change_shared(other, [](Node& mine, const Node& theirs) {
    if (theirs.member) mine.member = false;
    mine.children.subtract(theirs.children);
  });
}

void FieldSet::subtract_branches(const FieldSet& other) {
  change_shared(other, [](Node& mine, const Node& theirs) {
    if (theirs.member) {
      mine.member = false;
      mine.children = {};
    } else {
      mine.children.subtract_branches(theirs.children);
    }
  });
}

FieldSet FieldSet::united(FieldSet other) const {
  FieldSet result = *this;
  result.unite(std::move(other));
  return result;
}

FieldSet FieldSet::difference(const FieldSet& other) const {
  FieldSet result = *this;
  result.subtract(other);
  return result;
}

FieldSet FieldSet::recursive_difference(const FieldSet& other) const {
  FieldSet result = *this;
  result.subtract_branches(other);
  return result;
}

FieldSet FieldSet::leaves() const {
  FieldSet result;
  for (const Node& node : nodes_) {
    if (node.children.empty()) {
      result.append(node);
    } else {
      result.append({node.element, false, node.children.leaves()});
    }
  }
  return result;
}

bool FieldSet::operator==(const FieldSet& other) const {
  return nodes_ == other.nodes_;
}

void FieldSet::for_each(const std::function<void(const FieldPath&)>& visit) const {
  FieldPath path;
  visit_members(*this, path, visit);
}

}  // namespace gangway::json
