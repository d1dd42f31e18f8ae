#include "json/json_patch.h"

#include <algorithm>
#include <string>
#include <utility>

#include "json/pointer.h"

namespace gangway::json {
namespace {

// One operation as the user wrote it. `from` belongs to move and copy, `value` to add, replace and test.
struct Operation {
  std::string_view name;
  Pointer path;
  Pointer from;
  const Value* value = nullptr;
};

Error malformed(std::size_t index, std::string what) {
  return bad_request("error decoding patch: operation " + std::to_string(index) + ": " + std::move(what));
}

// For what is no operation and for what the document has no place for. Kubernetes says no more than this; kubectl
// prints it word for word.
Error does_not_fit() {
  Error error;
  error.reason = Reason::kInvalid;
  error.message = "the server rejected our request due to an error in our request";
  return error;
}

Result<Pointer> pointer_member(const Object& object, std::string_view member, std::size_t index) {
  const Value* text = object.if_contains(member);
  if (text == nullptr || text->is_null()) return does_not_fit();
  if (!text->is_string()) return malformed(index, "\"" + std::string(member) + "\" must be a JSON pointer");
  Result<Pointer> pointer = Pointer::parse({text->get_string().data(), text->get_string().size()});
  if (!pointer) return does_not_fit();
  return pointer;
}

Result<Operation> read_operation(const Value& value, std::size_t index) {
  const Object* object = value.if_object();
  if (object == nullptr) return malformed(index, "must be an object with \"op\" and \"path\"");
  Operation operation;
  const Value* name = object->if_contains("op");
  if (name != nullptr && !name->is_string() && !name->is_null()) return malformed(index, "\"op\" must be a string");
  operation.name = string_at(value, {"op"});
  const bool takes_value = operation.name == "add" || operation.name == "replace" || operation.name == "test";
  const bool takes_from = operation.name == "move" || operation.name == "copy";
  if (!takes_value && !takes_from && operation.name != "remove") return does_not_fit();
  GW_TRY(operation.path, pointer_member(*object, "path", index));
  if (takes_from) {
    GW_TRY(operation.from, pointer_member(*object, "from", index));
  }
  if (takes_value) {
    operation.value = object->if_contains("value");
    if (operation.value == nullptr) return malformed(index, "\"value\" is required for " + std::string(operation.name));
  }
  return operation;
}

// Objects and lists inside each other. The recursion is bounded: documents and patches come from the parser, and what
// a patch makes is checked before it is put in place.
std::size_t depth_of(const Value& value) {
  std::size_t inner = 0;
  if (const Object* object = value.if_object()) {
    for (const auto& member : *object) inner = std::max(inner, depth_of(member.value()));
  } else if (const Array* array = value.if_array()) {
    for (const Value& item : *array) inner = std::max(inner, depth_of(item));
  } else {
    return 0;
  }
  return inner + 1;
}

// Applies operations one by one. Error texts carry no position; apply_json_patch adds it.
class Patcher {
 public:
  Patcher(Value& document, const JsonPatchLimits& limits) : document_(document), limits_(limits) {}

  Result<void> apply(const Operation& operation) {
    if (operation.name == "add") return add(operation.path, *operation.value);
    if (operation.name == "remove") return remove(operation.path);
    if (operation.name == "replace") return replace(operation.path, *operation.value);
    if (operation.name == "move") return move(operation);
    if (operation.name == "copy") return copy(operation);
    return test(operation.path, *operation.value);
  }

 private:
  Result<void> check_depth(const Pointer& path, const Value& value) const {
    if (path.tokens().size() + depth_of(value) <= limits_.max_depth) return {};
    return bad_request("the document would be nested deeper than " + std::to_string(limits_.max_depth));
  }

  Result<void> add(const Pointer& path, Value value) {
    GW_CHECKED(check_depth(path, value));
    if (path.is_root()) {
      document_ = std::move(value);
      return {};
    }
    Value* parent = path.find_parent(document_);
    if (parent == nullptr) return bad_request("the parent of the path does not exist");
    const std::string& token = path.tokens().back();
    if (Object* object = parent->if_object()) {
      object->insert_or_assign(token, std::move(value));
      return {};
    }
    Array& array = parent->get_array();
    std::size_t index = array.size();
    if (token != "-") {
      const std::optional<std::size_t> given = parse_index(token);
      if (!given) return bad_request("\"" + token + "\" is not an array index");
      if (*given > array.size()) return bad_request(out_of_bounds(*given, array.size()));
      index = *given;
    }
    array.insert(array.begin() + static_cast<std::ptrdiff_t>(index), std::move(value));
    return {};
  }

  Result<void> remove(const Pointer& path) {
    if (path.is_root()) return bad_request("the whole document cannot be removed");
    Value* parent = path.find_parent(document_);
    if (parent == nullptr || path.find(document_) == nullptr) return bad_request("the path does not exist");
    const std::string& token = path.tokens().back();
    if (Object* object = parent->if_object()) {
      // erase() would move the last member into the gap; the order of fields is kept for whoever reads the object.
      object->stable_erase(object->find(token));
    } else {
      Array& array = parent->get_array();
      array.erase(array.begin() + static_cast<std::ptrdiff_t>(*parse_index(token)));
    }
    return {};
  }

  Result<void> replace(const Pointer& path, const Value& value) {
    Value* target = path.find(document_);
    if (target == nullptr) return bad_request("the path does not exist");
    GW_CHECKED(check_depth(path, value));
    *target = value;
    return {};
  }

  Result<void> move(const Operation& operation) {
    if (operation.from.is_parent_of(operation.path)) return bad_request("a value cannot be moved into itself");
    const Value* source = operation.from.find(document_);
    if (source == nullptr) return from_missing(operation);
    Value value = *source;
    if (operation.from.is_root()) return add(operation.path, std::move(value));
    GW_CHECKED(remove(operation.from));
    return add(operation.path, std::move(value));
  }

  Result<void> copy(const Operation& operation) {
    const Value* source = operation.from.find(document_);
    if (source == nullptr) return from_missing(operation);
    copied_bytes_ += serialize(*source).size();
    if (copied_bytes_ > limits_.max_copied_bytes) {
      return bad_request("copy operations add more than " + std::to_string(limits_.max_copied_bytes) + " bytes");
    }
    return add(operation.path, *source);
  }

  Result<void> test(const Pointer& path, const Value& value) {
    const Value* target = path.find(document_);
    // As in Kubernetes, testing a missing field for null succeeds.
    if (target == nullptr && value.is_null()) return {};
    if (target == nullptr) return bad_request("the path does not exist");
    if (!equal(*target, value)) return bad_request("the value is not the expected one");
    return {};
  }

  static std::string out_of_bounds(std::size_t index, std::size_t size) {
    return "index " + std::to_string(index) + " is out of bounds, the list has " + std::to_string(size) + " items";
  }
  static Error from_missing(const Operation& operation) {
    return bad_request("\"from\" (\"" + operation.from.to_string() + "\") does not exist");
  }

  Value& document_;
  const JsonPatchLimits& limits_;
  std::size_t copied_bytes_ = 0;
};

}  // namespace

Result<Value> apply_json_patch(Value document, const Value& patch, const JsonPatchLimits& limits) {
  const Array* operations = patch.if_array();
  if (operations == nullptr) return bad_request("error decoding patch: a JSON patch is a list of operations");
  if (operations->size() > limits.max_operations) {
    Error error = bad_request("The allowed maximum operations in a JSON patch is " +
                              std::to_string(limits.max_operations) + ", got " + std::to_string(operations->size()));
    error.reason = Reason::kRequestEntityTooLarge;
    return error;
  }
  std::vector<Operation> parsed;
  parsed.reserve(operations->size());
  for (std::size_t index = 0; index < operations->size(); ++index) {
    GW_TRY(Operation operation, read_operation((*operations)[index], index));
    parsed.push_back(std::move(operation));
  }
  Patcher patcher(document, limits);
  for (std::size_t index = 0; index < parsed.size(); ++index) {
    Result<void> applied = patcher.apply(parsed[index]);
    if (!applied) return does_not_fit();
  }
  return document;
}

}  // namespace gangway::json
