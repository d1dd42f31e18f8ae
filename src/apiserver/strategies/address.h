// IP addresses as values of fields.
#pragma once

#include "apiserver/strategies/field.h"
#include "base/address.h"

namespace gangway::apiserver {

// Adds a cause unless the field is an address; false when it did.
bool check_address(const Field& field);
// An address that others may send to: not the loopback, link-local or unspecified one.
void check_reachable(const Field& field);

}  // namespace gangway::apiserver
