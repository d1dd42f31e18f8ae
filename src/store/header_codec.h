// The stored form of an object's header, so that opening a store parses no JSON. Pure functions.
//
// The name and the revision are not in it: they are columns of their own. The first byte is the version of the form.
#pragma once

#include <string>
#include <string_view>

#include "api/object.h"
#include "base/result.h"

namespace gangway::store {

std::string encode_header(const api::Header& header);
// Without name and revision. Refuses anything that encode_header did not make.
Result<api::Header> decode_header(std::string_view bytes);

}  // namespace gangway::store
