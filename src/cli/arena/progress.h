// How far a training is, as its program reports it, and when it may end. Pure.
//
// A pod's conditions hold the last report alone. The rate is what was done between the first report of this run of the
// program and the last: what lies before the run, other attempts and the time that was waited between them, says
// nothing about how fast it is now.
#pragma once

#include <optional>
#include <string>

#include "base/time.h"
#include "json/value.h"

namespace gangway::cli::arena {

// One report. `done` and `total` are steps, or epochs where no step is told.
struct Progress {
  struct Start {
    double done = 0;
    WallTime at = {};
  };
  std::optional<double> epoch = {}, step = {}, total = {}, loss = {};
  WallTime at = {};
  std::optional<Start> since = {};  // the first report of this run; none: this is the first

  std::optional<double> done() const { return step ? step : epoch; }
};

struct Checkpoint {
  std::string path;
  WallTime at = {};
};

// What a pod's conditions say; none where they say nothing that can be read.
std::optional<Progress> progress_of(const json::Value& pod);
std::optional<Checkpoint> checkpoint_of(const json::Value& pod);

// Between 0 and 1; none where no total is told.
std::optional<double> fraction_of(const Progress& progress);
// None where it cannot be said: no total, a run that is too young, no advance, or a time that has passed already.
std::optional<WallTime> estimated_end(const Progress& progress, WallTime now);

// "epoch 3, step 1200/5000 (24%), loss 0.31"
std::string progress_text(const Progress& progress);
// "0.31"; empty where none is told.
std::string loss_text(const Progress& progress);
// "24%", "step 1200" or "epoch 3"
std::string short_progress(const Progress& progress);
// "[####----------------] 24%": for what has a total; the rest is short_progress.
std::string progress_bar(const Progress& progress);

json::Value to_json(const Progress& progress, std::optional<WallTime> end);
json::Value to_json(const Checkpoint& checkpoint);

}  // namespace gangway::cli::arena
