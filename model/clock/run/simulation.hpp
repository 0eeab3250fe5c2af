#pragma once
// A Simulation runs an event graph for timeline and period: first come, first served, one event after the other. It is
// made for many runs: a graph's dependences and shares of pipes are computed once; given the next graph it keeps its
// memory, and a step allocates nothing.

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "model/clock/run/timeline.hpp"

namespace napkin::internal {

class Simulation {
 public:
  /// Prepares runs of a graph, which must outlive them.
  explicit Simulation(const EventGraph& graph);
  Simulation() = default;  ///< makes an empty simulation for turn_to()
  void turn_to(const EventGraph& graph);

  /// Runs so many blocks of so many iterations. Throws Error as napkin::run does.
  [[nodiscard]] Timeline whole(int iterations, int blocks, bool keep_spans);

  struct FirstBlocks {
    std::array<double, 3> clocks{};  ///< clocks until the last result of one, two and three blocks in a row
    std::array<double, 3> more{};    ///< clocks of another iteration in each block
    int least = 1, turn = 1;         ///< range of validity: blocks of `least` iterations or more that differ by whole
                                     ///< turns
  };
  /// Simulates up to three blocks in a row, each starting from the state in which the previous left the pipes. `cut`
  /// tells how many of a block's first and last iterations are partial. Unless `in_full`, repeated iterations are
  /// skipped.
  [[nodiscard]] FirstBlocks first_blocks(int iterations, CutIterations cut = {}, bool in_full = false);

  struct Steady {
    double clocks = 0;   ///< clocks of an iteration; if it does not settle, of all iterations
    int iterations = 0;  ///< length from which an iteration takes `clocks`
    int turn = 0;        ///< iterations after which it repeats itself; 0: it does not settle
  };
  /// Runs a block until it repeats itself: over twice as many iterations as any edge reaches, every node ends a fixed
  /// number of clocks after it did a fixed number of iterations before. Otherwise runs to the end.
  [[nodiscard]] Steady steady(int most_iterations);

 private:
  /// An edge from one instance, with the wait that it causes.
  struct Arc {
    double wait = 0;  // clocks, the source's latency included
    int to = 0;       // vertex
    int shift = 0;    // turns
    int base = 0;     // index of the first job of `to` in this run
    bool into_loop = true;
    bool simple = false;  // true between loop vertices, without `ahead` or a negative delay
    int ahead = 0;
    bool in_order = false;
  };
  /// An instance of a node.
  struct Vertex {
    NodeKind kind = NodeKind::thread;
    bool loop = true;
    int id = 0, instance = 0;
    std::array<int, 3> arcs{};  // range of arcs_ by EdgeFrom: arcs[f] up to arcs[f + 1]
    double clocks = 0;
    double early = 0;                // clocks from its result to the moment at which its pipe is free
    int base = 0;                    // index of its first job in this run
    int waits = 0;                   // simple arcs into it
    int all_waits = 0, most_in = 0;  // arcs into it from loop vertices, and the most turns that such an arc spans
    double late = 0;                 // additional clocks to its result in a block's first iterations that are cut
    int cut = -1;                    // index into nodes_ for its iterations that are cut; -1: as for others
    std::size_t queue = 0;           // queue of a copy or a store
    double each = 0;                 // clocks of one instruction of a tensor operation
  };
  struct Job {
    int vertex = 0, turn = 0;
    friend bool operator==(const Job& a, const Job& b) { return a.vertex == b.vertex && a.turn == b.turn; }
  };
  struct Active {
    Job job;
    int node = 0;
    bool instant = false;
    double left = 1, rate = 0, end = 0;  // fraction left, fraction a clock, clock of the end
  };
  struct Arrival {
    double time = 0;
    Job job;
    friend bool operator<(const Arrival& a, const Arrival& b) {
      if (a.time != b.time) return a.time < b.time;
      return a.job.vertex != b.job.vertex ? a.job.vertex < b.job.vertex : a.job.turn < b.job.turn;
    }
  };
  /// A pipe that serves one job at a time, in order of request.
  struct Queue {
    std::vector<Job> jobs;
    std::size_t head = 0;
    [[nodiscard]] bool empty() const { return head == jobs.size(); }
  };
  /// Consecutive instructions of a tensor operation.
  struct Part {
    Job job;
    int count = 0;
  };
  /// A tensor operation whose last instruction is not in the unit's queue yet.
  struct Handing {
    Job job;
    double time = 0;  // clock at which it will be, if nothing changes
  };
  /// The condition of that moment: `must_end` of the unit's instructions have ended.
  struct Due {
    int must_end;
    std::size_t handing;  // index into Tensors::handing
  };
  /// The tensor unit's instructions in the order in which they run: the first `tensor_queue` instructions
  /// are in its queue.
  struct Tensors {
    std::vector<Part> parts;
    std::size_t head = 0;
    double start = 0;  // start of the part that runs
    std::vector<Handing> handing;
    [[nodiscard]] bool idle() const { return head == parts.size(); }
  };
  static constexpr double never = std::numeric_limits<double>::infinity();
  static constexpr double tiny = 1e-9;  // tolerance, in clocks or in a pipe's rate, below which two are equal
  enum : std::size_t { copies, stores, tensors, handed };
  /// Returns the index in State::ends of a queue's job.
  [[nodiscard]] static std::size_t end_of(std::size_t queue) { return queue < tensors ? queue : queue + 2; }
  /// The iterations that a run has skipped.
  struct Skipped {
    int blocks = 0, behind = 0;  // blocks that have repeated themselves, and the block after the latest such block
    double clocks = 0;
    double iteration = 0;     // clocks of an iteration of each block
    int least = 1, turn = 1;  // validity, as in FirstBlocks
  };
  struct State {
    std::vector<std::int16_t> waits;  // open dependences of each job
    std::vector<Queue> queues = std::vector<Queue>(2);
    Tensors unit;
    std::vector<double> free_at;  // clock at which each queue's pipe can take the next job
    /// The ends of running jobs, or never: the first two queues' jobs, the tensor unit's part, the next `handing`, the
    /// further queues' jobs.
    std::vector<double> ends;
    int tensor = -1;  // node that the tensor unit runs
    std::vector<Active> active;
    std::vector<Arrival> arrivals;  // sorted, the next at first_arrival; insertions are few and mostly at the end
    std::size_t first_arrival = 0;
    std::vector<Job> held;  // jobs of blocks that may not begin yet
    double now = 0, changed_at = 0, next_end = 0;
    bool changed = false;
    std::int64_t done = 0;
    int blocks_let_in = 0, iterations_let_in = 0;
    std::vector<int> ended;  // number of ended jobs of each vertex
    Skipped skipped;
    void clear();
    void let_in(int blocks, int iterations);
  };
  struct Share {
    std::uint64_t key = 0;
    std::uint32_t demands = 0;  // number of the graph's set of demands
    std::array<double, 6> rates{};
  };

  /// The demand of a node on a pipe: `wanted` for each part of its weight.
  struct Demand {
    std::size_t pipe = 0;
    double clocks = 0, wanted = 0;
    bool at_work = true;  // true if it counts for VectorPipe::least_share
  };
  struct Node {
    double clocks = 0, weight = 0;
    int demands = 0, demands_end = 0;  // range in demands_
  };
  enum class Note { nothing, starts, ends };

  void begin(int iterations, int blocks, int let_in);
  void add_node(const EventNode& node, bool cut);
  void add_arcs(const EventEdge& edge, int instance);
  void count_waits();
  void let_in_unblocked();
  void find_demands();
  [[nodiscard]] std::int64_t jobs_of(int blocks) const;
  [[nodiscard]] int turns(const Vertex& v) const { return v.loop ? loop_turns_ : blocks_; }
  [[nodiscard]] std::size_t index(Job job) const {
    return static_cast<std::size_t>(vertices_[static_cast<std::size_t>(job.vertex)].base + job.turn);
  }
  [[nodiscard]] int node_of(const Vertex& v, int turn) const;
  [[nodiscard]] int target_turn(const Vertex& from, const Arc& arc, int turn) const;
  void ready(Job job);
  void fire(Job job, EdgeFrom after);
  void arrive(double time, Job job);
  void finish(Job job);
  void step();
  void serve(std::size_t which);
  void hand_over(Job job);
  void line_up(Job job);
  void take_back();
  void append(Job job, int instructions);
  void run_part();
  void end_part();
  void see_what_is_handed_over();
  void time_handing();
  [[nodiscard]] const EventNode& tensor_of(Job job) const {
    return g_->node(vertices_[static_cast<std::size_t>(job.vertex)].id);
  }
  [[nodiscard]] double clocks_of(Job job) const { return vertices_[static_cast<std::size_t>(job.vertex)].each; }
  [[nodiscard]] bool receive(double ends);
  void end_queues(double until);
  void end_threads();
  void share();
  [[nodiscard]] const double* rates(std::uint64_t key);
  void fill(int tensor);
  [[nodiscard]] double most_growth();
  [[nodiscard]] bool stopped(std::size_t active) const;
  [[nodiscard]] bool has_ended(std::size_t vertex, int iteration) const;
  [[nodiscard]] double shift_of(int iteration, int distance) const;
  [[nodiscard]] bool repeats(int iteration, int distance) const;
  void run_until(std::int64_t done, bool none_held);
  void skip_what_repeats();
  void say();
  void skip(int block, int distance, double clocks);
  [[nodiscard]] int furthest(int from, int to) const;
  void move_on(int from, int last, int iterations);

  const EventGraph* g_ = nullptr;
  std::vector<Vertex> vertices_;
  std::vector<Node> nodes_;
  std::vector<Demand> demands_;  // nonzero demands, node after node
  std::vector<int> first_;       // first vertex of each node
  std::vector<Arc> arcs_;        // arcs, vertex after vertex
  std::vector<Share> shares_;    // hash table by key and demands
  std::vector<double> numbers_;  // numbers of the graph's demands
  std::map<std::vector<double>, std::uint32_t> known_demands_;
  std::uint32_t demands_of_graph_ = 0;
  int most_shift_ = 1;  // most turns that an arc spans
  int window_ = 2;      // number of turns that must repeat
  int iterations_ = 1, blocks_ = 1, loop_turns_ = 1;
  CutIterations cut_;  // cut iterations of each block
  State s_, before_;
  Timeline timeline_;
  Note note_ = Note::nothing;
  std::vector<Due> due_;               // conditions, the latest first
  std::vector<std::size_t> place_;     // index of each job in the list that is being searched
  std::vector<double> noted_;          // start or end of each job
  std::vector<double> room_, wanted_;  // free and wanted rate of each pipe
  std::vector<std::size_t> at_work_;   // number of threads' nodes that use each pipe
  std::vector<std::size_t> growing_;
  std::vector<Job> let_in_;
  std::vector<Part> behind_;  // instructions of the tensor unit that wait outside its queue
  /// A snapshot of the run's state at an end of the watched node, kept for the latest iterations to detect that the
  /// state repeats.
  struct Said {
    double time = 0;
    std::vector<double> numbers;
  };
  std::vector<Said> said_;              // snapshots by iteration, cyclic
  int watched_ = 0;                     // vertex whose ends are recorded
  bool skips_ = false;                  // true if this run skips iterations that repeat
  int known_ = 0;                       // number of consecutive iterations with a snapshot
  int most_back_ = 0, most_ahead_ = 0;  // iterations at a block's end and start whose arcs have other targets
};

}  // namespace napkin::internal
