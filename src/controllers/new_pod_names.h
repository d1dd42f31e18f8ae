// The names of the pods that a set makes next. Pure: a function of the view, of what is there, what was there and which
// creations of the last look are in doubt.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api/object.h"
#include "client/view.h"

namespace gangway::controllers {

// For `set`, which lacks `missing` pods and has `present` active ones: not all at once, but at most as many as are
// present, and after a failure only those of creations that may have happened unseen, or one.
std::vector<std::string> names_for_new_pods(const client::View& view, const api::Version& set, std::size_t missing,
                                            std::size_t present);

}  // namespace gangway::controllers
