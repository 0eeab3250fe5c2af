#pragma once
// A StepAnswer has the time and energy of one step of a model, in all and by launch: the prefill of 2048 tokens of
// Llama 3 8B on an H100, of which its products take the larger part. All launches of a step run at one clock, the one
// that the card holds under their mean power.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "napkin/answers.hpp"

namespace napkin {

/// The way in which the launches of a step are issued.
enum class Issue {
  stream,  ///< launches one by one, at least the profile's launch_overhead from start to start
  graph    ///< a CUDA graph: only the gap between two launches
};

/// A question about a step as a user writes it.
struct StepAsk {
  std::string step;   ///< a bundled step's name or a path
  std::string gpu;    ///< a profile's or an island's name or path, or "here"
  NamedSizes shape;   ///< values of the step's symbols; those with a default may be left out
  std::string dtype;  ///< type of launches that name none; empty: the step's own, else bf16
  CardConditions conditions = {};
  bool bundled = false;        ///< true: only this project's kernels
  std::optional<Issue> issue;  ///< way of issuing; none: the step's own
};

/// The launches of one kind.
struct StepEntryAnswer {
  enum class Kind {
    question,   ///< a question about an algorithm
    pass,       ///< a pass over device memory with little arithmetic
    collective  ///< a transfer between GPUs
  };
  std::string name;  ///< name in the step: "layer.qkv"
  Kind kind = Kind::question;
  std::int64_t times = 1;
  std::string algorithm;  ///< algorithm of a question; collective: "all_reduce"
  NamedSizes shape;       ///< sizes of every axis, for one GPU
  std::string dtype;
  Mask mask;
  std::optional<std::string> kernel;
  TileValues tile;
  double time = 0;               ///< seconds of one launch at the step's clock, and of the gap after it
  std::optional<double> alone;   ///< seconds of a question's launch by itself, as `query` predicts
  double share = 0;              ///< share of the step's time, all launches together
  double flops = 0;              ///< FLOP of one launch
  std::int64_t bytes = 0;        ///< bytes of a launch to and from device memory; collective: between GPUs
  std::optional<double> energy;  ///< joules of one launch, its share of the card's constant power included
  std::string bound;             ///< pipe that limits; "launch" if the gap between launches is the time
  bool at_least = false;         ///< true if the time is a bound
};

struct StepAnswer {
  std::string step, about, gpu;
  std::string product;    ///< profile of one of its GPUs
  std::int64_t gpus = 1;  ///< GPUs that take part
  std::string dtype;
  NamedSizes shape;  ///< values of every symbol
  CardConditions conditions;
  Issue issue = Issue::stream;
  bool found = false;   ///< true if the step can run; else see `because`
  std::string because;  ///< the entries that take most, or the reason why the step cannot run
  std::vector<StepEntryAnswer> entries;
  std::int64_t launches = 0;  ///< launches of each GPU
  double time = 0;            ///< seconds
  double gaps = 0;            ///< seconds of `time` between launches
  std::int64_t tokens = 0;
  double tokens_per_second = 0;
  double flops = 0;                                  ///< FLOP of all GPUs
  std::int64_t bytes = 0;                            ///< bytes to and from each GPU's device memory
  double clock = 0;                                  ///< hertz of all launches
  std::string clock_source;                          ///< "held at the power limit", "maximum clock", ...
  std::optional<double> power;                       ///< mean watts of a GPU
  std::optional<double> energy;                      ///< joules of all GPUs
  double by_graph = 0;                               ///< share of the time that the event graph predicted
  std::optional<std::int64_t> memory, memory_limit;  ///< bytes that a GPU holds, and has
  bool at_least = false;                             ///< true if a part of the time is a bound
  std::vector<std::string> left_out;                 ///< effects that the time leaves out
};

}  // namespace napkin
