// What a list or a watch selects: namespace, name, selectors, pages and revisions, read off the query.
#pragma once

#include <optional>
#include <string>

#include "api/selector.h"
#include "apiserver/rest/call.h"

namespace gangway::apiserver {

struct Selection {
  api::LabelSelector labels;
  api::FieldSelector fields;
  std::string ns;    // empty: all
  std::string name;  // empty: all

  bool selects_all() const { return labels.selects_everything() && fields.selects_everything() && name.empty(); }
  bool matches(const api::Header& header) const;
};

Result<Selection> read_selection(const Call& call);
// resourceVersion, where there is one.
Result<std::optional<api::Revision>> read_revision(const sys::Query& query);

enum class RevisionMatch : std::uint8_t { kUnset, kNotOlderThan, kExact };

struct ListOptions {
  Selection selection;
  std::int64_t limit = 0;  // 0: no limit
  std::string continue_token;
  std::optional<api::Revision> revision;  // resourceVersion, where one was sent
  RevisionMatch match = RevisionMatch::kUnset;
};
Result<ListOptions> read_list_options(const Call& call);

struct WatchOptions {
  Selection selection;
  std::optional<api::Revision> revision;
  bool bookmarks = false;
  std::optional<bool> send_initial_events;
  std::optional<std::int64_t> timeout_seconds;
};
Result<WatchOptions> read_watch_options(const Call& call);

// Where a paged list goes on: the revision it shows and the first name of the next page.
struct ContinuePoint {
  api::Revision revision = 0;
  api::ObjectName start;
};
std::string encode_continue(const ContinuePoint& point);
Result<ContinuePoint> decode_continue(std::string_view token);

}  // namespace gangway::apiserver
