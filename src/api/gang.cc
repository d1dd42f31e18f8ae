#include "api/gang.h"

namespace gangway::api {

std::optional<bool> gang_choice(const json::Value& job) {
  const std::string_view text = json::string_at(job, {"metadata", "annotations", kGang});
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

}  // namespace gangway::api
