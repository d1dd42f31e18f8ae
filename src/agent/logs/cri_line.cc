#include "agent/logs/cri_line.h"

#include <utility>

namespace gangway::agent {
namespace {

// Takes what stands before the next space off the front of `text`.
std::optional<std::string_view> take_word(std::string_view& text) {
  const auto space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto word = text.substr(0, space);
  text.remove_prefix(space + 1);
  return word;
}

}  // namespace

std::optional<CriLine> parse_cri_line(std::string_view line) {
  CriLine out;
  const auto time = take_word(line);
  const auto stream = take_word(line);
  if (!time || !stream || time->size() < 20 || (*stream != "stdout" && *stream != "stderr")) return std::nullopt;
  // Tags are separated by colons, and only the first has a meaning so far. A line of nothing may lack the last space.
  auto tags = take_word(line);
  if (!tags) tags = std::exchange(line, {});
  const auto tag = tags->substr(0, tags->find(':'));
  if (tag != "F" && tag != "P") return std::nullopt;
  out.time = *time;
  out.stream = *stream == "stderr" ? 2 : 1;
  out.partial = tag == "P";
  out.content = line;
  return out;
}

void LineAssembler::take(const CriLine& line, const Emit& emit) {
  Held& held = held_[line.stream - 1U];
  if (!held.open) {
    if (!line.partial) {
      held.text.assign(line.content);
      held.text += '\n';
      return emit(line.time, true, held.text);
    }
    held.open = true;
    held.begun = false;
    held.time = line.time;
    held.text.clear();
  }
  held.text += line.content;
  if (!line.partial) held.text += '\n';
  if (line.partial && held.text.size() < kMaxHeld) return;
  emit(held.time, !held.begun, held.text);
  held.begun = true;
  held.open = line.partial;
  held.text.clear();
}

void LineAssembler::finish(const Emit& emit) {
  for (Held& held : held_) {
    if (!std::exchange(held.open, false) || held.text.empty()) continue;
    emit(held.time, !held.begun, held.text);
    held.text.clear();
  }
}

}  // namespace gangway::agent
