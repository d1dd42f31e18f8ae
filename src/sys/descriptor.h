// Descriptor: the short name of FileDescriptor.
#pragma once

#include "sys/file_descriptor.h"

namespace gangway::sys {

using Descriptor = FileDescriptor;

}  // namespace gangway::sys
