#include "scheduler/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "api/pod_requests.h"

namespace gangway::scheduler {
namespace {

struct Word {
  UsageBy by;
  std::string_view word;
  std::string_view title;
};
constexpr Word kWords[] = {{UsageBy::kUser, "user", "USER"},
                           {UsageBy::kNamespace, "namespace", "NAMESPACE"},
                           {UsageBy::kPriority, "priority", "PRIORITY"},
                           {UsageBy::kJob, "job", "JOB"}};

const Word& word_of(UsageBy by) {
  return *std::find_if(std::begin(kWords), std::end(kWords), [&](const Word& each) { return each.by == by; });
}

std::string who_of(const JobRef& job, const UsageQuestion& question) {
  switch (question.by) {
    case UsageBy::kNamespace:
      return job.ns;
    case UsageBy::kPriority:
      return job.priority_class.empty() ? "none" : job.priority_class;
    case UsageBy::kJob:
      return job.ns + "/" + job.kind + "/" + job.name;
    case UsageBy::kUser:
      break;
  }
  return question.knows_users && !job.user.empty() ? job.user : "unknown";
}

class Sum {
 public:
  explicit Sum(const UsageQuestion& question) : question_(question) {}

  // What the account has settled, and those of its pods that end unseen: nobody lists them any more.
  void add(const Account& account, const std::set<std::string>& listed) {
    UsageLine sum;
    sum.used_gpu_seconds = total_since(account.used, question_.since);
    sum.waited_gpu_seconds = total_since(account.waited, question_.since);
    for (const PreemptionEntry& entry : account.preemptions) {
      if (entry.at < question_.since) continue;
      sum.lost_gpu_seconds = api::sum_of(sum.lost_gpu_seconds, entry.gpu_seconds);
      sum.preemptions += entry.count;
    }
    for (const EndingPod& pod : account.ending) {
      if (listed.contains(pod.uid)) continue;
      const WallTime end = std::min(question_.now, pod.ends.value_or(question_.now));
      add_time(sum, pod.gpus, pod.created, pod.bound, end);
    }
    add(account.job, sum);
  }

  void add(const PodUsage& pod) {
    UsageLine sum;
    add_time(sum, pod.gpus, pod.created, pod.bound, std::min(question_.now, pod.ended.value_or(question_.now)));
    add(pod.job, sum);
  }

  std::vector<UsageLine> lines() && {
    std::vector<UsageLine> lines;
    for (auto& [who, line] : lines_) {
      line.who = who;
      const bool is_empty = line.used_gpu_seconds == 0 && line.waited_gpu_seconds == 0 && line.lost_gpu_seconds == 0 &&
                            line.preemptions == 0;
      if (!is_empty) lines.push_back(std::move(line));
    }
    std::stable_sort(lines.begin(), lines.end(), [](const UsageLine& a, const UsageLine& b) {
      return std::tie(b.used_gpu_seconds, b.waited_gpu_seconds) < std::tie(a.used_gpu_seconds, a.waited_gpu_seconds);
    });
    return lines;
  }

 private:
  void add_time(UsageLine& sum, std::int64_t gpus, WallTime created, std::optional<WallTime> bound,
                WallTime end) const {
    const WallTime start = std::min(bound.value_or(end), end);
    const auto after = [&](WallTime time) { return std::max(time, question_.since); };
    sum.waited_gpu_seconds = api::sum_of(sum.waited_gpu_seconds, gpu_seconds(gpus, after(created), start));
    sum.used_gpu_seconds = api::sum_of(sum.used_gpu_seconds, gpu_seconds(gpus, after(start), end));
  }

  void add(const JobRef& job, const UsageLine& more) {
    UsageLine& line = lines_[who_of(job, question_)];
    line.used_gpu_seconds = api::sum_of(line.used_gpu_seconds, more.used_gpu_seconds);
    line.waited_gpu_seconds = api::sum_of(line.waited_gpu_seconds, more.waited_gpu_seconds);
    line.lost_gpu_seconds = api::sum_of(line.lost_gpu_seconds, more.lost_gpu_seconds);
    line.preemptions += more.preemptions;
  }

  const UsageQuestion& question_;
  std::map<std::string, UsageLine> lines_;
};

std::string hours(std::int64_t gpu_seconds) {
  return fmt::format("{:.2f}", static_cast<double>(gpu_seconds) / 3600.0);
}

}  // namespace

std::optional<UsageBy> usage_by_word(std::string_view word) {
  for (const Word& each : kWords)
    if (each.word == word) return each.by;
  return std::nullopt;
}

std::vector<UsageLine> usage_of(const std::vector<Account>& accounts, const std::vector<PodUsage>& pods,
                                const UsageQuestion& question) {
  std::set<std::string> listed;
  for (const PodUsage& pod : pods) listed.insert(pod.uid);
  std::set<std::string> settled;
  Sum sum(question);
  for (const Account& account : accounts) {
    settled.insert(account.settled.begin(), account.settled.end());
    sum.add(account, listed);
  }
  for (const PodUsage& pod : pods)
    if (pod.gpus > 0 && !settled.contains(pod.uid)) sum.add(pod);
  return std::move(sum).lines();
}

std::string usage_table(const std::vector<UsageLine>& lines, UsageBy by) {
  std::size_t width = word_of(by).title.size();
  for (const UsageLine& line : lines) width = std::max(width, line.who.size());
  const auto row = [&](std::string_view who, std::string_view used, std::string_view waited, std::string_view lost,
                       std::string_view preemptions) {
    return fmt::format("{:<{}}   {:>10}   {:>10}   {:>10}   {:>11}\n", who, width, used, waited, lost, preemptions);
  };
  std::string text = row(word_of(by).title, "USED GPU-H", "WAITED", "LOST", "PREEMPTIONS");
  for (const UsageLine& line : lines)
    text += row(line.who, hours(line.used_gpu_seconds), hours(line.waited_gpu_seconds), hours(line.lost_gpu_seconds),
                std::to_string(line.preemptions));
  return text;
}

json::Value usage_json(const std::vector<UsageLine>& lines, const UsageQuestion& question) {
  json::Array items;
  for (const UsageLine& line : lines)
    items.push_back(json::Object{{"who", line.who},
                                 {"usedGpuSeconds", line.used_gpu_seconds},
                                 {"waitedGpuSeconds", line.waited_gpu_seconds},
                                 {"lostGpuSeconds", line.lost_gpu_seconds},
                                 {"preemptions", line.preemptions}});
  return json::Object{{"by", word_of(question.by).word},
                      {"since", to_rfc3339(question.since)},
                      {"until", to_rfc3339(question.now)},
                      {"items", std::move(items)}};
}

}  // namespace gangway::scheduler
