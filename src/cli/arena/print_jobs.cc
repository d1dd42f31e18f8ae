#include "cli/arena/print_jobs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "cli/arena/table.h"
#include "cli/arena/text.h"

namespace gangway::cli::arena {
namespace {

std::string or_none(const std::string& text) {
  return text.empty() ? "N/A" : text;
}

std::string local_time(WallTime time) {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts)};
}

std::string allocated(const JobView& job) {
  // What is over holds nothing, unless a pod of it is still there.
  if (job.is_over() && job.allocated_gpus == 0) return "N/A";
  return std::to_string(job.allocated_gpus);
}

std::string chief_address(const JobView& job) {
  return job.chief() == nullptr ? "N/A" : or_none(job.chief()->node_ip);
}

std::string reason_lines(const JobView& job) {
  if (job.message.empty()) return "";
  return fmt::format("\nREASON: {}\n", job.message);
}

std::string time_left(const JobView& job, WallTime now) {
  return job.estimated_end ? short_duration(*job.estimated_end - now) : "";
}

std::string end_text(const JobView& job, WallTime now) {
  return fmt::format("{} (in {})", local_time(*job.estimated_end), time_left(job, now));
}

std::string checkpoint_text(const JobView& job, WallTime now) {
  return fmt::format("{} ({} ago)", job.checkpoint->path, short_duration(now - job.checkpoint->at));
}

std::string progress_line(const JobView& job, WallTime now) {
  std::vector<std::string> parts;
  if (job.progress) parts.push_back(progress_text(*job.progress));
  if (job.estimated_end) parts.push_back("estimated end " + end_text(job, now));
  if (job.checkpoint) parts.push_back("last checkpoint " + checkpoint_text(job, now));
  return parts.empty() ? "" : fmt::format("\nPROGRESS: {}\n", fmt::join(parts, ", "));
}

std::int64_t unix_seconds(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

Table header_block(const JobView& job, WallTime now) {
  Table table;
  table.row({"Name:", job.name});
  table.row({"Status:", job.status});
  table.row({"Namespace:", job.ns});
  table.row({"Priority:", job.priority});
  table.row({"Trainer:", trainer_of(job.type)});
  table.row({"Duration:", short_duration(job.duration)});
  table.row({"CreateTime:", local_time(job.created)});
  table.row({"EndTime:", job.ended ? local_time(*job.ended) : ""});
  if (job.lacks_pods()) table.row({"Running:", fmt::format("{}/{}", job.running, job.desired)});
  if (job.attempt > 1) table.row({"Attempt:", std::to_string(job.attempt)});
  if (job.progress) table.row({"Progress:", progress_text(*job.progress)});
  if (job.estimated_end) table.row({"EstimatedEnd:", end_text(job, now)});
  if (job.checkpoint) table.row({"Checkpoint:", checkpoint_text(job, now)});
  if (!job.reason.empty()) table.row({"Reason:", job.reason});
  if (!job.message.empty()) table.row({"Message:", job.message});
  return table;
}

std::string instances_block(const JobView& job, WallTime now) {
  if (job.instances.empty()) return "";
  const std::vector<std::string> header = {"NAME", "STATUS", "AGE", "IS_CHIEF", "GPU(Requested)", "NODE"};
  Table table;
  table.row(header);
  table.row(dashes_under(header));
  for (const Instance& instance : job.instances)
    table.row({instance.name, instance.status, short_duration(now - instance.created),
               instance.is_chief ? "true" : "false", std::to_string(instance.gpus), or_none(instance.node)});
  return "\nInstances:\n" + table.text("  ");
}

json::Value to_json(const Instance& instance, WallTime now) {
  return json::Object{{"ip", instance.ip},
                      {"status", instance.status},
                      {"name", instance.name},
                      {"age", short_duration(now - instance.created)},
                      {"node", instance.node},
                      {"nodeIP", instance.node_ip},
                      {"chief", instance.is_chief},
                      {"requestGPUs", instance.gpus},
                      {"gpuMetrics", json::Object{}},
                      {"creationTimestamp", unix_seconds(instance.created)},
                      {"attempt", instance.attempt}};
}

// How far, how well, until when, and since when nothing would be lost.
void add_progress(const JobView& job, WallTime now, std::vector<std::string>& row) {
  row.push_back(job.progress ? or_none(short_progress(*job.progress)) : "N/A");
  row.push_back(job.progress ? or_none(loss_text(*job.progress)) : "N/A");
  row.push_back(job.estimated_end ? "in " + time_left(job, now) : "N/A");
  row.push_back(job.checkpoint ? short_duration(now - job.checkpoint->at) + " ago" : "N/A");
}

}  // namespace

std::string get_text(const JobView& job, WallTime now) {
  std::string text = fmt::format("STATUS: {}\nNAMESPACE: {}\nPRIORITY: {}\nTRAINING DURATION: {}\n", job.status, job.ns,
                                 job.priority, short_duration(job.duration));
  if (job.lacks_pods()) text += fmt::format("INSTANCES: {}/{}\n", job.running, job.desired);
  Table table;
  table.row({"NAME", "STATUS", "TRAINER", "AGE", "INSTANCE", "NODE"});
  for (const Instance& instance : job.instances)
    table.row({job.name, upper(instance.phase), trainer_of(job.type), short_duration(now - instance.created),
               instance.name, or_none(instance.node_ip)});
  text += "\n" + table.text() + progress_line(job, now) + reason_lines(job);
  if (!job.tensorboard.empty()) text += fmt::format("\nYour tensorboard will be available on:\n{}\n", job.tensorboard);
  return text;
}

std::string get_wide_text(const JobView& job, WallTime now) {
  std::string text = header_block(job, now).text() + instances_block(job, now);
  if (!job.tensorboard.empty())
    text += fmt::format("\nTensorboard:\n  Your tensorboard will be available on: \n  {}\n", job.tensorboard);
  return text;
}

std::string gpus_text(const JobView& job) {
  if (job.requested_gpus == 0 || job.status == "SUCCEEDED") return "";
  const std::vector<std::string> header = {"INSTANCE",     "NODE(IP)",       "GPU(Requested)",
                                           "GPU(IndexId)", "GPU(DutyCycle)", "GPU Memory(Used/Total)"};
  Table table;
  table.row(header);
  table.row(dashes_under(header));
  for (const Instance& instance : job.instances)
    table.row({instance.name, or_none(instance.node_ip), std::to_string(instance.gpus), "N/A", "N/A", "N/A"});
  return fmt::format("\nGPUs:\n{}\n  Allocated/Requested GPUs of Job: {}/{}\n", table.text("  "), job.allocated_gpus,
                     job.requested_gpus);
}

std::vector<std::string> list_header(const ListLayout& layout) {
  std::vector<std::string> header = {"NAME",           "STATUS",         "TRAINER", "DURATION",
                                     "GPU(Requested)", "GPU(Allocated)", "NODE"};
  if (layout.with_namespace) header.insert(header.begin(), "NAMESPACE");
  if (layout.is_wide) header.insert(header.end(), {"PRIORITY", "REASON"});
  if (layout.with_progress) header.emplace_back("PROGRESS");
  return header;
}

std::vector<std::string> list_row(const JobView& job, const ListLayout& layout, WallTime now) {
  std::vector<std::string> row = {job.name,
                                  job.status,
                                  trainer_of(job.type),
                                  short_duration(job.duration),
                                  std::to_string(job.requested_gpus),
                                  allocated(job),
                                  chief_address(job)};
  if (layout.with_namespace) row.insert(row.begin(), job.ns);
  if (layout.is_wide) row.insert(row.end(), {job.priority, or_none(job.reason)});
  if (layout.with_progress) {
    std::string bar = job.progress ? progress_bar(*job.progress) : "";
    if (job.estimated_end) bar += fmt::format(" {} left", time_left(job, now));
    row.push_back(or_none(bar));
  }
  return row;
}

std::string list_text(const std::vector<JobView>& jobs, const ListLayout& layout, WallTime now) {
  Table table;
  table.row(list_header(layout));
  for (const JobView& job : jobs) table.row(list_row(job, layout, now));
  return table.text();
}

std::string top_jobs_text(std::vector<JobView> jobs, const ListLayout& layout, WallTime now) {
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const JobView& a, const JobView& b) { return a.requested_gpus > b.requested_gpus; });
  Table table;
  std::vector<std::string> header = {"NAME", "STATUS", "TRAINER", "AGE", "GPU(Requested)", "GPU(Allocated)", "NODE"};
  const bool shows_progress = layout.is_wide || std::any_of(jobs.begin(), jobs.end(), [](const JobView& job) {
                                return job.progress.has_value();
                              });
  if (layout.with_namespace) header.insert(header.begin(), "NAMESPACE");
  if (shows_progress) header.insert(header.end(), {"PROGRESS", "LOSS", "ENDS", "CHECKPOINT"});
  table.row(header);
  std::int64_t requested = 0;
  std::int64_t in_use = 0;
  for (const JobView& job : jobs) {
    std::vector<std::string> row = list_row(job, {.with_namespace = layout.with_namespace}, now);
    row[row.size() - 2] = std::to_string(job.allocated_gpus);
    if (shows_progress) add_progress(job, now, row);
    table.row(std::move(row));
    if (job.status != "RUNNING") continue;
    requested += job.requested_gpus;
    in_use += job.allocated_gpus;
  }
  return fmt::format("{}\nTotal Allocated/Requested GPUs of Training Jobs: {}/{}\n", table.text(), in_use, requested);
}

std::string top_job_text(const JobView& job, WallTime now) {
  const std::vector<std::string> header = {
      "NAME", "STATUS", "GPU(Request)", "NODE", "GPU(DeviceIndex)", "GPU(DutyCycle)", "GPU_MEMORY(Used/Total)"};
  std::vector<std::string> dashes = dashes_under(header);
  dashes.back() = std::string(15, '-');
  Table table;
  table.row(header);
  table.row(dashes);
  for (const Instance& instance : job.instances)
    table.row({instance.name, instance.status, std::to_string(instance.gpus), or_none(instance.node_ip), "N/A", "N/A",
               "N/A"});
  return fmt::format("{}\nInstances:\n{}\nGPUs:\n  Allocated/Requested GPUs of Job: {}/{}\n",
                     header_block(job, now).text(), table.text("  "), job.allocated_gpus, job.requested_gpus);
}

json::Value to_json(const JobView& job, WallTime now) {
  json::Array instances;
  for (const Instance& instance : job.instances) instances.push_back(to_json(instance, now));
  json::Object document{{"uuid", job.uid},
                        {"name", job.name},
                        {"namespace", job.ns},
                        {"duration", short_duration(job.duration)},
                        {"status", job.status},
                        {"trainer", info_of(job.type).name},
                        {"tensorboard", job.tensorboard},
                        {"chiefName", job.chief() == nullptr ? std::string() : job.chief()->name},
                        {"instances", std::move(instances)},
                        {"priority", job.priority},
                        {"requestGPUs", job.requested_gpus},
                        {"allocatedGPUs", job.allocated_gpus},
                        {"creationTimestamp", unix_seconds(job.created)},
                        {"modelName", ""},
                        {"modelVersion", ""},
                        {"modelSource", ""},
                        {"reason", job.reason},
                        {"message", job.message},
                        {"attempt", job.attempt},
                        {"desiredInstances", job.desired},
                        {"runningInstances", job.running}};
  if (job.progress) document["progress"] = to_json(*job.progress, job.estimated_end);
  if (job.checkpoint) document["checkpoint"] = to_json(*job.checkpoint);
  return document;
}

json::Value to_json(const std::vector<JobView>& jobs, WallTime now) {
  json::Array all;
  for (const JobView& job : jobs) all.push_back(to_json(job, now));
  return all;
}

}  // namespace gangway::cli::arena
