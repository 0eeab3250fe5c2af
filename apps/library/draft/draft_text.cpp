#include "apps/library/draft/draft_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "apps/library/draft/draft_sizes.hpp"
#include "model/base/error.hpp"

namespace napkin::internal {
namespace {

std::string listed(const std::vector<std::string>& words) { return "[" + joined(words) + "]"; }

/// A piece of work: the mapping's unit and how many results an instruction has.
struct Piece {
  const char *unit_of_code, *name, *unit;
  int results;
};
constexpr Piece pieces[] = {
    {"alu", "compare", "alu", 1},        {"special", "exp", "special", 1},
    {"fp32", "arithmetic", "fp32", 1},   {"conversion", "convert", "conversion", 2},
    {"shuffle", "reduce", "shuffle", 1}, {"copy", "copy", "issue", 1},
    {"other", "others", "issue", 1},
};

/// The file, line after line; each line that says TODO is counted.
class Writer {
 public:
  Writer(const DraftParts& parts, const SassCensus& census, DraftSizes sizes)
      : parts_(parts), census_(census), sizes_(std::move(sizes)) {}

  Draft draft() {
    head();
    knobs();
    agents();
    levels();
    arrays();
    operations();
    edges();
    return std::move(out_);
  }

 private:
  void line(const std::string& text) { out_.text += text + "\n"; }
  void todo(const std::string& text, const std::string& what) {
    ++out_.open;
    line(text + (text.empty() || text.ends_with(" ") ? "" : "  ") + "# TODO " + what);
  }
  [[nodiscard]] bool specialised() const { return census_.copy_registers > 0; }
  [[nodiscard]] std::string engine() const {
    return census_.bulk_everywhere > 0 ? "tma" : census_.copies > 0 ? "cp_async" : "plain";
  }
  [[nodiscard]] const DraftOperation& product(std::size_t n) const {
    for (const DraftOperation& one : parts_.operations) {
      if (one.product && n-- == 0) return one;
    }
    return parts_.operations.back();
  }
  /// Returns the operation between the two products, or nullptr.
  [[nodiscard]] const DraftOperation* between() const {
    for (std::size_t i = 0; parts_.products == 2 && i + 1 < parts_.operations.size(); ++i) {
      if (parts_.operations[i].product) return parts_.operations[i + 1].product ? nullptr : &parts_.operations[i + 1];
    }
    return nullptr;
  }
  [[nodiscard]] std::string start() const { return product(0).output + (census_.lead.all() > 0 ? ".control" : ""); }

  void head();
  void knobs();
  void agents();
  void levels();
  void arrays();
  void operations();
  void edges();
  [[nodiscard]] int overhead(int threads) const;
  void size_of(const std::string& axis, const char* unit);
  void product_head(const SassOperation& operation, const DraftOperation& names);
  void work(const SassSection& section, const std::string& prefix, const std::string& rest);
  void piece(const std::string& name, const std::string& unit, int count, const std::string& rest,
             const std::string& about);
  void edges_of_two();
  void edges_of_one();

  const DraftParts& parts_;
  const SassCensus& census_;
  const DraftSizes sizes_;
  Draft out_;
  std::string first_piece_, last_piece_;  ///< first and last piece of the operation between the products
};

void Writer::head() {
  const SassFunction& function = census_.function;
  const SassResources& own = function.resources;
  line("# A draft: what the machine code of " + function.name.substr(0, 80) +
       " says is counted, what it cannot say is");
  line("# marked TODO. Counts are instructions of a warp in one iteration, masks and retries left out.");
  line(fmt::format("# The loop: {} instructions, {} barriers, {} further waits; {} bytes of stack, {} named barriers.",
                   census_.instructions, census_.barriers, census_.waits, own.stack, own.barriers));
  if (census_.copies > 0)
    line(
        fmt::format("# A thread asks for {} copies of {} bytes together by cp.async.", census_.copies, census_.copied));
  if (census_.bulk_everywhere > 0)
    line(fmt::format(
        "# The copy engine is asked in {} places, {} of them in the loop that brings chunks; {} words are made "
        "barriers.",
        census_.bulk_everywhere, census_.bulk, census_.mbarriers));
  for (const SassOperation& one : census_.operations)
    line(fmt::format("# {} products of {} x {} x {} by {}, into {} accumulator{}{}.", one.count, one.shape.m,
                     one.shape.n, one.shape.k, one.shape.warps == 1 ? "a warp" : "a warpgroup", one.chains,
                     one.chains == 1 ? "" : "s", one.a_in_registers ? ", A from registers" : ""));
  for (const int other : census_.others)
    todo("", fmt::format("another loop multiplies as much in {} instructions: masked chunks? (`masked: true`)", other));
  line("mapping: " + parts_.name);
  todo("about: " + parts_.name + ", drafted from its machine code", "what the kernel does, in a line");
  line("algorithm: " + parts_.algorithm);
  line("runs_on: " + listed({function.architecture.empty() ? "sm_90" : function.architecture}));
  const std::string& type = census_.operations.front().shape.type;
  line("dtypes: " + listed({type.empty() ? "bf16" : type}));
  if (parts_.products == 2) todo("masks: [none]", "the masks that it takes");
  std::vector<std::string> whole;
  for (const std::string& axis : parts_.whole) {
    if (sizes_.of.contains(axis)) whole.push_back(fmt::format("{}: [{}]", axis, sizes_.of.at(axis).value));
  }
  if (!whole.empty()) todo("sizes: {" + joined(whole) + "}", "the other sizes that it is compiled for");
}

void Writer::size_of(const std::string& axis, const char* unit) {
  const auto found = sizes_.of.find(axis);
  if (axis.empty() || found == sizes_.of.end()) return;
  const auto& [value, open] = found->second;
  const std::string text = fmt::format("  {}: {{unit: {}, domain: [{}], about: {} of a {}}}", axis, unit, value, unit,
                                       axis == parts_.stream ? "loop iteration" : "block");
  open.empty() ? line(text) : todo(text, "check: " + open);
}

void Writer::knobs() {
  line("\nknobs:");
  size_of(parts_.rows, "rows");
  size_of(parts_.columns, "columns");
  size_of(parts_.stream, "columns");
  todo("  stages: {unit: copies, domain: [2], about: buffers of what streams}", "how many buffers the kernel has");
}

/// Returns a thread's registers beyond its accumulators, if the compiler reports them.
int Writer::overhead(int threads) const {
  constexpr int usual = 32;
  double arrays = 0;
  for (const SassOperation& one : census_.operations)
    arrays += static_cast<double>(one.shape.m) * one.shape.n * one.chains / threads;
  const int left = census_.function.resources.registers - static_cast<int>(arrays);
  return specialised() || left <= 0 ? usual : left;
}

void Writer::agents() {
  const int registers = specialised() ? census_.compute_registers : census_.function.resources.registers;
  const int threads = 32 * census_.operations.front().shape.warps;
  line("\nagents:");
  if (specialised())
    line(fmt::format("  producer: {{count: 1, threads: {}, registers: {}}}", sizes_.copy_threads,
                     census_.copy_registers));
  const std::string split =
      fmt::format("splits: [{}], row_step: {}}}", parts_.rows, census_.operations.front().shape.m);
  const std::string set = specialised() && registers > 0 ? fmt::format("registers: {}, ", registers) : "";
  const std::string text = fmt::format("  consumer: {{count: {}, threads: {}, {}overhead: {}, {}", sizes_.agents,
                                       threads, set, overhead(threads), split);
  todo(text, fmt::format("overhead: registers of a thread that no array explains (the compiler gave it {}){}",
                         census_.function.resources.registers,
                         sizes_.open_agents.empty() ? "" : "; count: " + sizes_.open_agents));
}

void Writer::levels() {
  line("\nlevels:");
  todo(fmt::format("  shared: {{group: {}, stream: [{}]}}", listed(parts_.groups), parts_.stream),
       "the order of the grid, the fastest axis last");
  line(fmt::format("  registers: {{group: [{}]}}", parts_.rows));
}

void Writer::arrays() {
  line("\narrays:");
  for (const DraftInput& input : parts_.inputs) {
    const std::string text = fmt::format("  {}: {{level: shared, type: T, {}engine: {}}}", input.name,
                                         input.streamed ? "copies: stages, " : "", engine());
    input.streamed ? line(text) : todo(text, "its engine, and whether it stays in registers");
  }
  for (const DraftOperation& one : parts_.operations) {
    if (one.product) {
      line(fmt::format("  {}: {{level: registers, scope: agent, type: f32}}", one.output));
    } else if (const DraftOperation* own = between(); own == &one) {
      const bool registers = census_.operations.back().a_in_registers;
      const std::string text =
          fmt::format("  {}: {{level: {}, scope: agent, type: T{}}}", one.output, registers ? "registers" : "shared",
                      registers && !census_.second_first ? ", alias: " + product(0).output : "");
      todo(text, "alias: whether it takes the place of what it is made of");
    }
    if (one.is_output)
      todo(fmt::format("  {0}_out: {{of: {0}, level: shared, type: T, engine: {1}, staging: true}}", one.output,
                       engine() == "tma" ? "tma" : "plain"),
           "how the result leaves; alias: the buffer whose place it takes");
  }
}

void Writer::piece(const std::string& name, const std::string& unit, int count, const std::string& rest,
                   const std::string& about) {
  if (count <= 0) return;
  line(fmt::format("      - {{name: {}, unit: {}, per: threads, count: {}{}}}{}", name, unit, count, rest,
                   about.empty() ? "" : "  # " + about));
}

void Writer::work(const SassSection& section, const std::string& prefix, const std::string& rest) {
  for (const Piece& one : pieces) {
    const int count = section.of(one.unit_of_code);
    if (count == 0) continue;
    const std::string name = prefix + one.name;
    if (rest.empty()) {
      if (first_piece_.empty()) first_piece_ = name;
      last_piece_ = name;
    }
    piece(name, one.unit, count * one.results, rest, one.results == 1 ? "" : fmt::format("{} instructions", count));
  }
  piece(prefix + "stores", "shared_port", section.shared, rest, "bytes of a thread");
  piece(prefix + "spilled", "shared_port", section.local, rest, "bytes of a thread in local memory");
}

void Writer::product_head(const SassOperation& operation, const DraftOperation& names) {
  line("  " + names.output + ":");
  line("    agent: consumer");
  line("    unit: tensor");
  line("    type: T");
  if (!operation.shape.asynchronous) line("    instruction: mma.sync");
  line("    accumulate: " + operation.shape.accumulate);
  line(fmt::format("    operands: {{{0}: {0}, {1}: {1}}}", names.inputs[0], names.inputs[1]));
  if (operation.waits > 1) line(fmt::format("    waits: {}", operation.waits));
}

void Writer::operations() {
  line("\noperations:");
  const bool synchronous = !census_.operations.front().shape.asynchronous;
  product_head(census_.operations[0], product(0));
  line("    work:");
  ++out_.open;
  line("      # TODO of a persistent kernel what a tile takes, not all that stands before the loop");
  piece("start", "issue", census_.head, ", first: true", "");
  if (parts_.products == 2 && !synchronous) {
    SassSection moved = census_.sections[2];
    work(moved, "before_", "");
  } else if (parts_.products == 2) {
    piece("copy", "issue", census_.sections[1].of("copy") + census_.sections[2].of("copy"), "", "");
  }
  piece("control", "issue", census_.lead.all(), ", serial: true", "from the wait to the first product");
  work(census_.sections[0], "", synchronous ? ", with: " + product(0).output : "");
  if (parts_.products == 1) {
    piece("finish", "issue", census_.tail, ", once: true", "");
    return;
  }
  first_piece_.clear(), last_piece_.clear();
  for (const DraftOperation& one : parts_.operations) {
    if (one.product) continue;
    line("  " + one.output + ":");
    line("    agent: consumer\n    unit: vector");
    line(fmt::format("    operands: {{{0}: {0}}}", one.inputs[0]));
    if (&one != between()) continue;
    line("    work:");
    SassSection own = census_.sections[1];
    if (synchronous) own.instructions.erase("copy");
    work(own, "", "");
    if (!synchronous) continue;
    SassSection late = census_.sections[2];
    late.instructions.erase("copy");
    work(late, "late_", ", with: " + product(1).output);
  }
  product_head(census_.operations[1], product(1));
  line("    work:");
  piece("finish", "issue", census_.tail, ", once: true", "");
}

void Writer::edges_of_two() {
  const DraftOperation &s = product(0), &o = product(1);
  const DraftOperation* p = between();
  const std::string first = p != nullptr && !first_piece_.empty() ? p->output + "." + first_piece_ : o.output;
  const std::string last = p != nullptr && !last_piece_.empty() ? p->output + "." + last_piece_ : s.output;
  for (const DraftInput& input : parts_.inputs) {
    const bool of_first = std::find(s.inputs.begin(), s.inputs.end(), input.name) != s.inputs.end();
    const std::string& user = of_first ? s.output : o.output;
    line(fmt::format("  - {{from: load {}, to: {}}}", input.name, of_first && input.streamed ? start() : user));
    if (input.streamed)
      todo(fmt::format("  - {{from: {}, to: load {}, tokens: stages}}", user, input.name),
           "where the buffer is given back");
  }
  if (start() != s.output) line(fmt::format("  - {{from: {}, to: {}}}", start(), s.output));
  if (census_.second_first)
    todo(fmt::format("  - {{from: {}, to: {}, distance: -1, wait: issued}}", s.output, o.output),
         "the code has the next iteration's " + s.output + " ahead of this one's " + o.output +
             ", if it is the next one's");
  line(fmt::format("  - {{from: {}, to: {}}}", s.output, first));
  line(fmt::format("  - {{from: {}, to: {}}}", last, o.output));
  todo(fmt::format("  - {{from: {}, to: {}, distance: 1}}", o.output, first),
       "where its accumulators are touched next");
}

void Writer::edges_of_one() {
  const DraftOperation& c = product(0);
  for (const DraftInput& input : parts_.inputs) {
    line(fmt::format("  - {{from: load {}, to: {}}}", input.name, start()));
    todo(fmt::format("  - {{from: {}, to: load {}, tokens: stages}}", c.output, input.name),
         "where the buffer is given back");
  }
  if (start() != c.output) line(fmt::format("  - {{from: {}, to: {}}}", start(), c.output));
  todo(fmt::format("  - {{from: {0}, to: {0}, tokens: {1}}}", c.output,
                   census_.operations.front().shape.asynchronous && census_.operations.front().waits > 0 ? 2 : 1),
       "how many iterations' products are on their way");
}

void Writer::edges() {
  line("\nedges:");
  parts_.products == 2 ? edges_of_two() : edges_of_one();
}

}  // namespace

Draft draft_text(const DraftParts& parts, const SassCensus& census, const TileText& tile) {
  return Writer(parts, census, draft_sizes(parts, census, tile)).draft();
}

}  // namespace napkin::internal
