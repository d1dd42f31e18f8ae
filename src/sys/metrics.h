// Metrics: counters, gauges and histograms, and their text form for /metrics.
//
// Get a handle once, where the part is made, and keep it: using one is an atomic addition, getting one takes a lock and
// looks the labels up. Handles are small values that must not outlive their Metrics. All of it may be used from any
// thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gangway::sys {

class Counter {
 public:
  void add(double amount = 1) const;

 private:
  friend class Metrics;
  explicit Counter(void* counter) : counter_(counter) {}
  void* counter_;
};

class Gauge {
 public:
  void set(double value) const;
  void add(double amount) const;

 private:
  friend class Metrics;
  explicit Gauge(void* gauge) : gauge_(gauge) {}
  void* gauge_;
};

class Histogram {
 public:
  void observe(double value) const;

 private:
  friend class Metrics;
  explicit Histogram(void* histogram) : histogram_(histogram) {}
  void* histogram_;
};

class Metrics {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // The same name and labels give the same metric. A name must keep its type and its help text.
  Counter counter(const std::string& name, const std::string& help, const Labels& labels = {});
  Gauge gauge(const std::string& name, const std::string& help, const Labels& labels = {});
  // `bounds` are the upper bounds of the buckets, ascending; those of the first call with a name count.
  Histogram histogram(const std::string& name, const std::string& help, const std::vector<double>& bounds,
                      const Labels& labels = {});

  // Runs before each exposition, to set gauges that nobody keeps up to date.
  void on_expose(std::function<void()> update);
  // Prometheus' text format, version 0.0.4.
  std::string expose() const;

  // Upper bounds in seconds for requests: 1 ms to 60 s.
  static std::vector<double> latency_bounds();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

inline constexpr std::string_view kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace gangway::sys
