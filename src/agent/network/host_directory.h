// HostDirectory: the folder that dnsmasq reads host files from, made to hold exactly what it is told.
//
// Files appear and change by rename, so that dnsmasq never reads half of one; only what differs is touched. Blocking,
// small files in memory. Belongs to one thread.
#pragma once

#include <string>

#include "agent/network/layout.h"
#include "agent/network/service_names.h"
#include "base/result.h"

namespace gangway::agent {

class HostDirectory {
 public:
  explicit HostDirectory(const NetworkLayout& layout) : folder_(layout.hosts_dir()), staging_(layout.staging_dir()) {}

  // How many files changed.
  Result<std::size_t> write(const HostFiles& files);

 private:
  void read_present();

  std::string folder_;
  std::string staging_;
  bool known_ = false;
  HostFiles present_;
};

}  // namespace gangway::agent
