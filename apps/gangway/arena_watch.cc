// arena list --watch: jobs as they change, drawn in place on a terminal and line by line elsewhere.
#include "arena_watch.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "cli/arena/list_changes.h"
#include "cli/arena/screen.h"
#include "cli/arena/table.h"
#include "cli/arena/text.h"
#include "job_watch.h"
#include "json/yaml.h"

namespace gangway::arena {
namespace {

using cli::arena::JobView;
using cli::arena::ListLayout;

// A burst of changes is one change.
constexpr auto kPause = std::chrono::milliseconds(200);
// Durations count on, and trouble is noticed.
constexpr auto kTick = std::chrono::seconds(1);

cli::arena::ScreenSize screen_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {};
  return {size.ws_row, size.ws_col};
}

void put(std::string_view bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  std::fflush(stdout);
}

Result<void> draw_in_place(JobWatch& watch, const Session::What& what, const ListLayout& layout) {
  std::size_t lines = 0;
  std::string last;
  // Nothing to draw before everything was read once.
  while (!watch.wait(kTick))
    if (const std::string trouble = watch.trouble(); !trouble.empty() && trouble != last) warn(last = trouble);
  while (true) {
    GW_TRY(auto jobs, Session::view(watch.objects(), what));
    std::string text = list_text(jobs, layout, now());
    if (const std::string trouble = watch.trouble(); !trouble.empty()) text += fmt::format("({})\n", trouble);
    if (text != last) {
      cli::arena::Drawing drawing = draw_over(text, lines, screen_size());
      lines = drawing.lines;
      put(drawing.bytes);
    }
    last = std::move(text);
    std::this_thread::sleep_for(kPause);
    watch.wait(kTick);
  }
}

void print_changes(const std::vector<JobView>& changed, const ListLayout& layout, const std::string& output,
                   bool with_header) {
  cli::arena::Table table;
  if (with_header) table.row(list_header(layout));
  std::string documents;
  for (const JobView& job : changed) {
    if (output == "json") {
      documents += cli::arena::indented_json(to_json(job, now())) + "\n";
    } else if (output == "yaml") {
      documents += "---\n" + json::to_yaml(to_json(job, now()));
    } else {
      table.row(list_row(job, layout, now()));
    }
  }
  put(output == "json" || output == "yaml" ? documents : table.text());
}

Result<void> append_changes(JobWatch& watch, const Session::What& what, const ListLayout& layout,
                            const std::string& output) {
  cli::arena::ListChanges changes(layout);
  std::string told_trouble;
  bool is_first = true;
  while (true) {
    if (watch.wait(kTick)) {
      GW_TRY(auto jobs, Session::view(watch.objects(), what));
      print_changes(changes.take(std::move(jobs), now()), layout, output, is_first);
      is_first = false;
      std::this_thread::sleep_for(kPause);
    }
    const std::string trouble = watch.trouble();
    if (!trouble.empty() && trouble != told_trouble) warn(trouble);
    told_trouble = trouble;
  }
}

}  // namespace

Result<void> watch_list(Session& session, const Session::What& what, ListLayout layout, const std::string& output) {
  layout.with_progress = true;
  GW_TRY(const auto served, session.read(what));
  JobWatch watch(session.connection(), what.ns, served);
  const bool is_table = output != "json" && output != "yaml";
  if (is_table && isatty(STDOUT_FILENO) == 1) return draw_in_place(watch, what, layout);
  return append_changes(watch, what, layout, output);
}

}  // namespace gangway::arena
