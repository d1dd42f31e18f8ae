// What the run directory of a cluster's network says: records of attachments, and which pods hold addresses.
// Blocking, small files in memory.
#pragma once

#include <map>
#include <set>
#include <string>

#include "agent/network/attachment.h"
#include "agent/network/layout.h"
#include "base/result.h"

namespace gangway::agent {

Result<void> make_run_directories(const NetworkLayout& layout);

Result<void> write_record(const NetworkLayout& layout, const std::string& uid, const Attachment& attachment);
void remove_record(const NetworkLayout& layout, const std::string& uid);
// By pod uid; those that cannot be read are left out.
std::map<std::string, Attachment> read_records(const NetworkLayout& layout);
// All that have a record, readable or not.
std::set<std::string> recorded_pods(const NetworkLayout& layout);

// The pods that host-local has given an address, by its own records.
std::set<std::string> pods_with_addresses(const NetworkLayout& layout);

}  // namespace gangway::agent
