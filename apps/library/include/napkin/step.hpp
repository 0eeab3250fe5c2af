#pragma once
// A StepAnswer says what one step of a model costs: the prefill of 2048 tokens of Llama 3 8B on an H100 takes so long,
// of which its products take so much. Every launch of the step runs at one clock, that which the mix of them holds.

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
  NamedSizes shape;   ///< the step's symbols; those with a default may be left out
  std::string dtype;  ///< type of launches that name none; empty: the step's own, else bf16
  CardConditions conditions = {};
  bool bundled = false;        ///< true: only this project's kernels
  std::optional<Issue> issue;  ///< none: as the step says
};

/// Launches of one kind.
struct StepEntryAnswer {
  enum class Kind {
    question,   ///< an algorithm's
    pass,       ///< a pass over device memory with little arithmetic
    collective  ///< a transfer between GPUs
  };
  std::string name;  ///< "layer.qkv"
  Kind kind = Kind::question;
  std::int64_t times = 1;
  std::string algorithm;  ///< algorithm of a question; collective: "all_reduce"
  NamedSizes shape;       ///< every axis; of one GPU
  std::string dtype;
  Mask mask;
  std::optional<std::string> kernel;
  TileValues tile;
  double time = 0;               ///< seconds of one launch at the step's clock, with the gap behind it
  std::optional<double> alone;   ///< seconds of a question's launch by itself, as `query` predicts
  double share = 0;              ///< share of the step's time, all launches together
  double flops = 0;              ///< FLOP of one launch
  std::int64_t bytes = 0;        ///< bytes of a launch to and from device memory; collective: between GPUs
  std::optional<double> energy;  ///< joules of one launch, with its share of what the card takes whatever runs
  std::string bound;             ///< the pipe that limits; "launch" where the time is the gap between launches
  bool at_least = false;         ///< the time is a bound
};

struct StepAnswer {
  std::string step, about, gpu;
  std::string product;    ///< profile of one of its GPUs
  std::int64_t gpus = 1;  ///< GPUs that take part
  std::string dtype;
  NamedSizes shape;  ///< every symbol
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
  double clock = 0;                                  ///< hertz that all launches run at
  std::string clock_source;                          ///< "held at the power limit", "maximum clock", ...
  std::optional<double> power;                       ///< mean watts of a GPU
  std::optional<double> energy;                      ///< joules of all GPUs
  double by_graph = 0;                               ///< share of the time that the event graph predicts
  std::optional<std::int64_t> memory, memory_limit;  ///< bytes that a GPU holds, and has
  bool at_least = false;                             ///< a part of the time is a bound
  std::vector<std::string> left_out;                 ///< effects that the time leaves out
};

}  // namespace napkin
