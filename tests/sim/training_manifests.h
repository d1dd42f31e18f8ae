// Training jobs of every kind that there is, by dice. For workloads.
#pragma once

#include <string>
#include <vector>

#include "client/api_client.h"
#include "json/value.h"
#include "testing/random.h"

namespace gangway::sim {

// However often a job is resized.
inline constexpr std::int64_t kMostWorkers = 4;

struct TrainingJob {
  client::Resource resource;
  json::Object object;  // all but its name and namespace
  std::vector<std::string> suspend_at;
  std::vector<std::string> resize_at;  // how many workers; empty: that cannot be changed
  bool goes_by_itself = false;         // once it has ended
};

// Some end well, some badly, some never; some can do with fewer workers than they would like.
TrainingJob some_training_job(testing::Random& random);

}  // namespace gangway::sim
