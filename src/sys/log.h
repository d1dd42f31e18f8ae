// The log: one line an event, a plain sentence followed by key=value pairs, to stderr and, if asked, to a rotating
// file.
//
// Not an audit trail, and not for data: nothing secret goes into it. May be called from any thread; a line that is
// below the level costs one comparison (and what it took to make its fields).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/result.h"

namespace gangway::sys {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError, kOff };

// "debug", "info", "warning", "error", "off".
Result<LogLevel> parse_log_level(std::string_view text);

struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  bool to_stderr = true;
  std::string file = {};  // empty: no file
  std::size_t max_file_bytes = 16 * 1024 * 1024;
  std::size_t max_files = 4;  // old ones are file.1, file.2, …
};

// Replaces the log. Until it is called, lines of kInfo and above go to stderr.
Result<void> configure_log(const LogOptions& options);
// Makes sure that what was logged is written.
void flush_log();

struct LogField {
  LogField(std::string_view field, std::string_view text) : key(field), value(text) {}
  LogField(std::string_view field, const std::string& text) : key(field), value(text) {}
  LogField(std::string_view field, const char* text) : key(field), value(text) {}
  LogField(std::string_view field, std::same_as<bool> auto yes) : key(field), value(yes ? "true" : "false") {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  LogField(std::string_view field, T number) : key(field), value(std::to_string(number)) {}
  LogField(std::string_view field, double number);

  std::string_view key;
  std::string value;
};
using LogFields = std::initializer_list<LogField>;

bool log_enabled(LogLevel level);
void log(LogLevel level, std::string_view message, LogFields fields = {});

inline void log_debug(std::string_view message, LogFields fields = {}) {
  log(LogLevel::kDebug, message, fields);
}
inline void log_info(std::string_view message, LogFields fields = {}) {
  log(LogLevel::kInfo, message, fields);
}
inline void log_warning(std::string_view message, LogFields fields = {}) {
  log(LogLevel::kWarning, message, fields);
}
inline void log_error(std::string_view message, LogFields fields = {}) {
  log(LogLevel::kError, message, fields);
}

}  // namespace gangway::sys
