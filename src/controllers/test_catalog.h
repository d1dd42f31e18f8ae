// For the tests of this folder: a ResourceCatalog that is a list, and a controller with all it needs around it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/resource.h"
#include "controllers/resource_catalog.h"
#include "testing/builders.h"
#include "testing/controller_bench.h"

namespace gangway::controllers {

inline const client::Resource kWidgets{"example.com", "v1", "widgets"};  // namespaced
inline const client::Resource kGadgets{"example.com", "v1", "gadgets"};  // cluster-scoped

class TestCatalog final : public ResourceCatalog {
 public:
  explicit TestCatalog(sys::EventLoop& loop) : loop_(loop) {}

  Result<std::vector<ResourceInfo>> resources() const override {
    if (broken) return *broken;
    return all;
  }
  std::optional<ResourceInfo> find_kind(std::string_view group, std::string_view kind) const override {
    for (const ResourceInfo& info : all)
      if (info.resource.group == group && info.kind == kind) return info;
    return std::nullopt;
  }
  std::optional<ResourceInfo> find_resource(std::string_view name) const override {
    for (const ResourceInfo& info : all)
      if (client::resource_name(info.resource) == name) return info;
    return std::nullopt;
  }
  std::unique_ptr<sys::Subscription> subscribe(sys::Task on_change) override {
    on_change_ = std::move(on_change);
    return std::make_unique<sys::Subscription>();
  }
  void set(std::vector<ResourceInfo> resources) {
    all = std::move(resources);
    loop_.post(on_change_);
  }

  std::vector<ResourceInfo> all = {{client::resources::kPods, "Pod"},
                                   {client::resources::kConfigMaps, "ConfigMap"},
                                   {client::resources::kNodes, "Node", false},
                                   {kWidgets, "Widget"},
                                   {kGadgets, "Gadget", false}};
  std::optional<Error> broken;

 private:
  sys::EventLoop& loop_;
  sys::Task on_change_;
};

// A reconciler at work on a fake cluster whose resources are known.
struct Bench : testing::ControllerBench {
  TestCatalog catalog{loop};
};

}  // namespace gangway::controllers
