#include "cli/arena/arguments.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace gangway::cli::arena {
namespace {

using Spelling = std::pair<std::string_view, std::string_view>;

constexpr std::array kOldSpellings = {
    Spelling{"workingDir", "working-dir"},
    Spelling{"dataDir", "data-dir"},
    Spelling{"syncMode", "sync-mode"},
    Spelling{"syncSource", "sync-source"},
    Spelling{"syncImage", "sync-image"},
    Spelling{"tensorboardImage", "tensorboard-image"},
    Spelling{"allNamespaces", "all-namespaces"},
    Spelling{"cleanTaskPolicy", "clean-task-policy"},
    Spelling{"workerImage", "worker-image"},
    Spelling{"workerPort", "worker-port"},
    Spelling{"workerCpu", "worker-cpu"},
    Spelling{"workerCpuLimit", "worker-cpu-limit"},
    Spelling{"workerMemory", "worker-memory"},
    Spelling{"workerMemoryLimit", "worker-memory-limit"},
    Spelling{"psImage", "ps-image"},
    Spelling{"psPort", "ps-port"},
    Spelling{"psCpu", "ps-cpu"},
    Spelling{"psCpuLimit", "ps-cpu-limit"},
    Spelling{"psMemory", "ps-memory"},
    Spelling{"psMemoryLimit", "ps-memory-limit"},
    Spelling{"psGpus", "ps-gpus"},
    Spelling{"chiefPort", "chief-port"},
    Spelling{"chiefCpu", "chief-cpu"},
    Spelling{"chiefCpuLimit", "chief-cpu-limit"},
    Spelling{"chiefMemory", "chief-memory"},
    Spelling{"chiefMemoryLimit", "chief-memory-limit"},
    Spelling{"evaluatorCpu", "evaluator-cpu"},
    Spelling{"evaluatorCpuLimit", "evaluator-cpu-limit"},
    Spelling{"evaluatorMemory", "evaluator-memory"},
    Spelling{"evaluatorMemoryLimit", "evaluator-memory-limit"},
    Spelling{"workerSelector", "worker-selector"},
    Spelling{"psSelector", "ps-selector"},
    Spelling{"chiefSelector", "chief-selector"},
    Spelling{"evaluatorSelector", "evaluator-selector"},
    Spelling{"minWorkers", "min-workers"},
    Spelling{"maxWorkers", "max-workers"},
    Spelling{"imagePullSecret", "image-pull-secret"},
};

std::string_view todays(std::string_view flag) {
  for (const auto& [old, now] : kOldSpellings)
    if (flag == old) return now;
  return flag;
}

}  // namespace

Arguments todays_arguments(const std::vector<std::string>& given) {
  Arguments result;
  std::size_t i = 0;
  for (; i < given.size() && given[i] != "--"; ++i) {
    const std::string& word = given[i];
    if (!word.starts_with("--")) {
      result.words.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string_view old = std::string_view(word).substr(2, equals == std::string::npos ? equals : equals - 2);
    const std::string_view flag = todays(old);
    if (flag != old)
      result.warnings.push_back(fmt::format("Flag --{} has been deprecated, please use --{} instead", old, flag));
    const bool stands_alone = equals == std::string::npos;
    if (stands_alone && flag == "queue") {
      result.words.push_back(fmt::format("--queue={}", kDefaultQueue));
    } else if (stands_alone && flag == "dry-run") {
      result.words.push_back(fmt::format("--dry-run={}", kPrintOnly));
    } else if (stands_alone) {
      result.words.push_back(fmt::format("--{}", flag));
    } else {
      const std::string value = word.substr(equals + 1);
      // An empty value would otherwise be taken for a missing one, and the next word in its place.
      if (value.empty()) {
        result.words.push_back(fmt::format("--{}", flag));
        result.words.emplace_back();
      } else {
        result.words.push_back(fmt::format("--{}={}", flag, value));
      }
    }
  }
  result.words.insert(result.words.end(), given.begin() + static_cast<std::ptrdiff_t>(i), given.end());
  return result;
}

}  // namespace gangway::cli::arena
