#include "json/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <optional>
#include <sstream>
#include <utility>

#include "base/utf8.h"
#include "json/yaml_scalar.h"

namespace gangway::json {
namespace {

std::string position(const YAML::Mark& mark) {
  return "line " + std::to_string(mark.line + 1) + " column " + std::to_string(mark.column + 1);
}

std::size_t count_values(const Value& value) {
  std::size_t count = 1;
  if (const Object* object = value.if_object()) {
    for (const auto& member : *object) count += count_values(member.value());
  } else if (const Array* array = value.if_array()) {
    for (const Value& item : *array) count += count_values(item);
  }
  return count;
}

// Builds one value out of the parser's events. After the first error the remaining events are ignored: exceptions do
// not leave this file, and the input is bounded.
class Builder : public YAML::EventHandler {
 public:
  Builder(const YamlOptions& options, bool with_lines, std::size_t& values_left)
      : options_(options), with_lines_(with_lines), values_left_(values_left) {}

  std::optional<std::string> error;
  YamlDocument document;
  bool has_value = false;

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(mark, nullptr, anchor, true); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (error) return;
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) return fail(mark, "an alias must not stand inside of what it refers to");
    const std::size_t count = count_values(found->second);
    if (count > values_left_) return fail(mark, "too many values");
    values_left_ -= count;
    add(mark, found->second, 0, true);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    if (error) return;
    if (expects_key() && text == "<<" && tag == "?") {
      frames_.back().key = text;
      frames_.back().is_merge_key = true;
      return;
    }
    // "?" is a plain scalar, "!" a quoted one.
    if (tag != "?" && tag != "tag:yaml.org,2002:int" && tag != "tag:yaml.org,2002:float" &&
        tag != "tag:yaml.org,2002:bool" && tag != "tag:yaml.org,2002:null") {
      return add(mark, Value(text), anchor, false);
    }
    std::optional<Value> value = resolve_plain_scalar(text);
    if (!value) return fail(mark, text + " is a number that JSON cannot hold");
    add(mark, std::move(*value), anchor, true);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, Array(), anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, Object(), anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    Value container;
    YAML::anchor_t anchor = 0;
    YAML::Mark mark;
    std::optional<std::string> key;
    bool is_merge_key = false;
    std::vector<Value> merged;  // what << brings in
    std::string path;
  };

  void fail(const YAML::Mark& mark, const std::string& what) {
    if (!error) error = "YAML: " + position(mark) + ": " + what;
  }
  bool expects_key() const { return !frames_.empty() && frames_.back().container.is_object() && !frames_.back().key; }
  std::string child_path() const {
    if (frames_.empty()) return {};
    const Frame& frame = frames_.back();
    if (const Array* array = frame.container.if_array()) return frame.path + '[' + std::to_string(array->size()) + ']';
    return frame.path.empty() ? frame.key.value_or("") : frame.path + '.' + frame.key.value_or("");
  }

  void open(const YAML::Mark& mark, Value container, YAML::anchor_t anchor) {
    if (error) return;
    if (expects_key()) return fail(mark, "a key must be a scalar");
    if (frames_.size() >= options_.max_depth) {
      return fail(mark, "nested deeper than " + std::to_string(options_.max_depth) + " levels");
    }
    Frame frame;
    frame.container = std::move(container);
    frame.anchor = anchor;
    frame.mark = mark;
    if (with_lines_) {
      frame.path = child_path();
      document.lines.emplace(frame.path, mark.line + 1);
    }
    frames_.push_back(std::move(frame));
  }

  void close() {
    if (error) return;
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    for (const Value& source : frame.merged) {
      if (!source.is_object()) return fail(frame.mark, "<< must bring in a mapping or a list of mappings");
      for (const auto& member : source.get_object()) frame.container.get_object().emplace(member.key(), member.value());
    }
    add(frame.mark, std::move(frame.container), frame.anchor, false);
  }

  void set_key(const YAML::Mark& mark, const Value& value, bool resolved) {
    if (value.is_structured() || value.is_null()) return fail(mark, "a key must be a string, a number or a boolean");
    const std::string key = resolved && !value.is_string() ? serialize(value) : std::string(value.get_string());
    Frame& frame = frames_.back();
    if (options_.refuse_duplicate_keys && frame.container.get_object().contains(key)) {
      return fail(mark, "key \"" + key + "\" is already set in this mapping");
    }
    frame.key = key;
    if (with_lines_) document.lines.insert_or_assign(child_path(), mark.line + 1);
  }

  void add(const YAML::Mark& mark, Value value, YAML::anchor_t anchor, bool resolved) {
    if (error) return;
    if (values_left_-- == 0) return fail(mark, "too many values");
    if (anchor != 0) anchors_.insert_or_assign(anchor, value);
    if (frames_.empty()) {
      has_value = true;
      document.value = std::move(value);
      return;
    }
    if (expects_key()) return set_key(mark, value, resolved);
    Frame& frame = frames_.back();
    if (Array* array = frame.container.if_array()) {
      if (with_lines_) document.lines.emplace(child_path(), mark.line + 1);
      array->push_back(std::move(value));
      return;
    }
    if (std::exchange(frame.is_merge_key, false)) {
      if (const Array* sources = value.if_array()) {
        frame.merged.insert(frame.merged.end(), sources->begin(), sources->end());
      } else {
        frame.merged.push_back(std::move(value));
      }
    } else {
      frame.container.get_object().insert_or_assign(*frame.key, std::move(value));
    }
    frame.key.reset();
  }

  const YamlOptions& options_;
  const bool with_lines_;
  std::size_t& values_left_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Value> anchors_;
};

Result<std::vector<YamlDocument>> read_documents(std::string_view text, const YamlOptions& options, bool with_lines) {
  if (text.size() > options.max_bytes) {
    Error error = bad_request("YAML is too large: " + std::to_string(text.size()) + " bytes, at most " +
                              std::to_string(options.max_bytes) + " are allowed");
    error.reason = Reason::kRequestEntityTooLarge;
    return error;
  }
  // A zero byte makes the parser take the text for UTF-16 or UTF-32, and pass on halves of characters.
  if (!valid_utf8(text) || text.find('\0') != std::string_view::npos) return bad_request("YAML: must be UTF-8 text");
  std::vector<YamlDocument> documents;
  std::size_t values_left = options.max_values;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    for (;;) {
      Builder builder(options, with_lines, values_left);
      if (!parser.HandleNextDocument(builder)) return documents;
      if (builder.error) return bad_request(*builder.error);
      if (builder.has_value && !builder.document.value.is_null()) documents.push_back(std::move(builder.document));
    }
  } catch (const YAML::Exception& exception) {
    return bad_request("YAML: " + position(exception.mark) + ": " + exception.msg);
  }
}

// Longer keys are only recognised behind a question mark.
constexpr std::size_t kMaxSimpleKey = 1000;

void write_string(std::string_view text, std::string& out) {
  const std::optional<Value> plain = resolve_plain_scalar(text);
  const bool stays_text = plain && plain->is_string();
  const bool has_plain_start =
      !text.empty() && ((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z') ||
                        (text[0] >= '0' && text[0] <= '9') || text[0] == '/' || text[0] == '_');
  bool has_plain_rest = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool last = i + 1 == text.size();
    if (c < 0x20 || c >= 0x7f || (c == ':' && (last || text[i + 1] == ' ')) ||
        (c == '#' && i > 0 && text[i - 1] == ' ') || (c == ' ' && last)) {
      has_plain_rest = false;
    }
  }
  if (stays_text && has_plain_start && has_plain_rest) {
    out += text;
  } else {
    append_quoted(text, out);
  }
}

void write_value(const Value& value, std::size_t indent, bool in_list, std::string& out);

void write_members(const Object& object, std::size_t indent, bool in_list, std::string& out) {
  bool first = in_list;  // the first key stands behind the dash
  for (const auto& member : object) {
    if (!std::exchange(first, false)) out.append(indent, ' ');
    const std::size_t start = out.size();
    write_string(member.key(), out);
    if (out.size() - start > kMaxSimpleKey) {
      out.insert(start, "? ");
      out += '\n';
      out.append(indent, ' ');
    }
    out += ':';
    write_value(member.value(), indent, false, out);
  }
}

void write_value(const Value& value, std::size_t indent, bool in_list, std::string& out) {
  if (const Object* object = value.if_object(); object != nullptr && !object->empty()) {
    out += in_list ? " " : "\n";
    return write_members(*object, indent + 2, in_list, out);
  }
  if (const Array* array = value.if_array(); array != nullptr && !array->empty()) {
    // A list in a list starts on its own line, so that its dashes can be indented.
    out += '\n';
    const std::size_t dashes = in_list ? indent + 2 : indent;
    for (const Value& item : *array) {
      out.append(dashes, ' ');
      out += '-';
      write_value(item, dashes, true, out);
    }
    return;
  }
  out += ' ';
  if (value.is_string()) {
    write_string(value.get_string(), out);
  } else {
    serialize_to(value, out);
  }
  out += '\n';
}

}  // namespace

int YamlDocument::line_of(std::string_view path) const {
  for (;;) {
    if (const auto found = lines.find(path); found != lines.end()) return found->second;
    if (path.empty()) return 1;
    const std::size_t cut = path.find_last_of(".[");
    path = path.substr(0, cut == std::string_view::npos ? 0 : cut);
  }
}

Result<std::vector<Value>> parse_yaml(std::string_view text, const YamlOptions& options) {
  GW_TRY(std::vector<YamlDocument> documents, read_documents(text, options, false));
  std::vector<Value> values;
  for (YamlDocument& document : documents) values.push_back(std::move(document.value));
  return values;
}

Result<std::vector<YamlDocument>> parse_yaml_with_lines(std::string_view text, const YamlOptions& options) {
  return read_documents(text, options, true);
}

std::string to_yaml(const Value& value) {
  std::string out;
  if (const Object* object = value.if_object(); object != nullptr && !object->empty()) {
    write_members(*object, 0, false, out);
    return out;
  }
  write_value(value, 0, false, out);
  return out.substr(1);
}

}  // namespace gangway::json
