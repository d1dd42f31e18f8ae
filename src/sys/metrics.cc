#include "sys/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <mutex>

namespace gangway::sys {
namespace {

prometheus::Labels to_map(const Metrics::Labels& labels) {
  return {labels.begin(), labels.end()};
}

}  // namespace

struct Metrics::State {
  prometheus::Registry registry;
  mutable std::mutex mutex;
  std::map<std::string, std::vector<double>> bounds;  // of each histogram's name
  std::vector<std::function<void()>> updates;
};

Metrics::Metrics() : state_(std::make_unique<State>()) {}
Metrics::~Metrics() = default;

void Counter::add(double amount) const {
  static_cast<prometheus::Counter*>(counter_)->Increment(amount);
}
void Gauge::set(double value) const {
  static_cast<prometheus::Gauge*>(gauge_)->Set(value);
}
void Gauge::add(double amount) const {
  static_cast<prometheus::Gauge*>(gauge_)->Increment(amount);
}
void Histogram::observe(double value) const {
  static_cast<prometheus::Histogram*>(histogram_)->Observe(value);
}

Counter Metrics::counter(const std::string& name, const std::string& help, const Labels& labels) {
  auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(state_->registry);
  return Counter(&family.Add(to_map(labels)));
}

Gauge Metrics::gauge(const std::string& name, const std::string& help, const Labels& labels) {
  auto& family = prometheus::BuildGauge().Name(name).Help(help).Register(state_->registry);
  return Gauge(&family.Add(to_map(labels)));
}

Histogram Metrics::histogram(const std::string& name, const std::string& help, const std::vector<double>& bounds,
                             const Labels& labels) {
  const std::vector<double>* first = nullptr;
  {
    std::lock_guard lock(state_->mutex);
    first = &state_->bounds.try_emplace(name, bounds).first->second;
  }
  auto& family = prometheus::BuildHistogram().Name(name).Help(help).Register(state_->registry);
  return Histogram(&family.Add(to_map(labels), *first));
}

void Metrics::on_expose(std::function<void()> update) {
  std::lock_guard lock(state_->mutex);
  state_->updates.push_back(std::move(update));
}

std::string Metrics::expose() const {
  std::vector<std::function<void()>> updates;
  {
    std::lock_guard lock(state_->mutex);
    updates = state_->updates;
  }
  for (const auto& update : updates) update();
  return prometheus::TextSerializer().Serialize(state_->registry.Collect());
}

std::vector<double> Metrics::latency_bounds() {
  return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};
}

}  // namespace gangway::sys
