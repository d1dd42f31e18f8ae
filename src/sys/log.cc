#include "sys/log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>
#include <memory>
#include <mutex>

#include "base/quote.h"

namespace gangway::sys {
namespace {

constexpr const char* kPattern = "%Y-%m-%dT%H:%M:%S.%fZ %l %v";

std::shared_ptr<spdlog::logger> make_logger(std::vector<spdlog::sink_ptr> sinks) {
  auto logger = std::make_shared<spdlog::logger>("gangway", sinks.begin(), sinks.end());
  logger->set_formatter(std::make_unique<spdlog::pattern_formatter>(kPattern, spdlog::pattern_time_type::utc));
  logger->set_level(spdlog::level::trace);
  logger->flush_on(spdlog::level::warn);
  return logger;
}

struct Log {
  std::atomic<LogLevel> level = LogLevel::kInfo;
  std::mutex mutex;
  std::shared_ptr<spdlog::logger> logger = make_logger({std::make_shared<spdlog::sinks::stderr_sink_mt>()});

  std::shared_ptr<spdlog::logger> current() {
    std::lock_guard lock(mutex);
    return logger;
  }
};

// Never destroyed: threads may log while the process ends.
Log& the_log() {
  static auto* log = new Log;
  return *log;
}

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      break;
  }
  return spdlog::level::off;
}

bool is_plain(std::string_view text) {
  for (char c : text) {
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7F) return false;
  }
  return !text.empty();
}

}  // namespace

LogField::LogField(std::string_view field, double number) : key(field), value(fmt::format("{}", number)) {}

Result<LogLevel> parse_log_level(std::string_view text) {
  if (text == "debug") return LogLevel::kDebug;
  if (text == "info") return LogLevel::kInfo;
  if (text == "warning") return LogLevel::kWarning;
  if (text == "error") return LogLevel::kError;
  if (text == "off") return LogLevel::kOff;
  return bad_request(fmt::format("log level {}: must be one of debug, info, warning, error, off", quoted(text)));
}

Result<void> configure_log(const LogOptions& options) {
  std::vector<spdlog::sink_ptr> sinks;
  if (options.to_stderr) sinks.push_back(std::make_shared<spdlog::sinks::stderr_sink_mt>());
  if (!options.file.empty()) {
    try {
      sinks.push_back(std::make_shared<spdlog::sinks::rotating_file_sink_mt>(options.file, options.max_file_bytes,
                                                                             options.max_files));
    } catch (const spdlog::spdlog_ex& error) {
      return internal_error(fmt::format("log file {}: {}", options.file, error.what()));
    }
  }
  auto logger = make_logger(std::move(sinks));
  auto& log = the_log();
  std::lock_guard lock(log.mutex);
  log.logger->flush();
  log.logger = std::move(logger);
  log.level = options.level;
  return {};
}

void flush_log() {
  the_log().current()->flush();
}

bool log_enabled(LogLevel level) {
  return level != LogLevel::kOff && level >= the_log().level.load(std::memory_order_relaxed);
}

void log(LogLevel level, std::string_view message, LogFields fields) {
  if (!log_enabled(level)) return;
  std::string line;
  // A line break in what a user sent must not look like another line of ours.
  auto escaped = quoted(message);
  line.append(escaped, 1, escaped.size() - 2);
  for (const auto& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    line += is_plain(field.value) ? field.value : quoted(field.value);
  }
  the_log().current()->log(to_spdlog(level), line);
}

}  // namespace gangway::sys
