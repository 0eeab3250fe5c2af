// Every micro-kernel that an experiment would run compiles, spills nothing, and still contains the work that it
// measures: a compiler removes work whose result is not used.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "kernels/jit/failure.hpp"
#include "kernels/micro/experiment.hpp"

namespace test_micro_kernels {

using namespace napkin;
using namespace napkin::internal;

namespace {

DeviceProperties h200() {
  DeviceProperties out;
  out.name = "NVIDIA H200";
  out.architecture = "sm_90";
  out.sms = 132;
  out.l2 = Bytes(60 << 20);
  out.shared_per_block = Bytes(232448);
  return out;
}

const std::map<std::string, LaunchPlan>& plans() {
  static const std::map<std::string, LaunchPlan> all = [] {
    PlanningBench bench(h200());
    for (const Experiment& experiment : experiments()) static_cast<void>(experiment.run(bench));
    return bench.plans();
  }();
  return all;
}

/// Returns the value of `.name = value` in an expression; "" if there is none.
std::string field(const std::string& expression, const std::string& name) {
  const auto at = expression.find("." + name + " = ");
  if (at == std::string::npos) return "";
  const auto from = at + name.size() + 4;
  return expression.substr(from, expression.find_first_of(",}", from) - from);
}

/// Returns true for a variant whose code another one has with a different product: they take most of the compiling.
/// False with three vector warpgroups, whose threads have few registers.
bool is_one_more_product(const std::string& expression) {
  const std::string n = field(expression, "n"), work = field(expression, "work");
  if (field(expression, "synchronous") == "true")
    return field(expression, "tensor_groups") != "1" || field(expression, "vector_groups") != "0";
  if (n.empty() || n == "128" || field(expression, "tensor_groups") == "0" || field(expression, "vector_groups") == "3")
    return false;
  return n != "256" || !work.ends_with("::none") || work.empty();
}

struct Compiled {
  CompiledKernel kernel;
  std::map<std::string, int> opcodes;             ///< counts by name with modifiers; empty without a disassembler
  std::vector<std::map<std::string, int>> loops;  ///< opcodes of each loop's body
};

std::string shell(const std::string& command) {
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) out.append(buffer.data(), n);
  ::pclose(pipe);
  return out;
}

bool has_disassembler() {
  static const bool has =
      std::system("nvdisasm --version > /dev/null 2>&1") == 0;  // NOLINT(concurrency-mt-unsafe): once
  return has;
}

/// Counts opcodes, of the whole code and of each loop, from a backward branch's label to the branch.
void disassemble(Compiled& into, std::size_t number) {
  if (!has_disassembler()) return;
  const auto file = std::filesystem::temp_directory_path() /
                    ("napkin-micro-" + std::to_string(::getpid()) + "-" + std::to_string(number));
  std::ofstream(file, std::ios::binary) << into.kernel.cubin;
  std::istringstream text(shell("nvdisasm -c " + file.string()));
  std::filesystem::remove(file);
  static const std::regex instruction(
      R"(/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\d\s+)?([A-Z][A-Z0-9_.]*)(?:.*`\((\.L_x_\d+)\))?)"),
      label(R"(^(\.L_x_\d+):)");
  std::map<std::string, std::size_t> labels;
  std::vector<std::string> opcodes;
  std::smatch found;
  for (std::string line; std::getline(text, line);) {
    if (std::regex_search(line, found, label)) labels[found[1]] = opcodes.size();
    if (!std::regex_search(line, found, instruction)) continue;
    opcodes.push_back(found[1]);
    ++into.opcodes[opcodes.back()];
    const auto start = opcodes.back() == "BRA" ? labels.find(found[2]) : labels.end();
    if (start == labels.end()) continue;
    into.loops.emplace_back();
    for (std::size_t i = start->second; i < opcodes.size(); ++i) ++into.loops.back()[opcodes[i]];
  }
}

/// Compiles the plans by two threads.
std::map<std::string, Compiled> compile_those(const std::vector<const LaunchPlan*>& todo) {
  std::map<std::string, Compiled> out;
  const auto compiler = Compiler::find(toolkit_directories(""));
  if (!compiler) {
    std::puts("SKIP: no NVRTC on this machine");
    return out;
  }
  if (!has_disassembler()) std::puts("no nvdisasm on this machine: only the compiler's report is looked at");
  for (const LaunchPlan* plan : todo) out[plan->expression];
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < todo.size(); i = next++) {
      Compiled& one = out.at(todo[i]->expression);
      one.kernel = compiler->compile({kernel_source(todo[i]->source), todo[i]->expression, todo[i]->architecture, {}});
      disassemble(one, i);
    }
  };
  std::thread second(work);
  work();
  second.join();
  return out;
}

const std::map<std::string, Compiled>& compiled() {
  static const std::map<std::string, Compiled> all = [] {
    std::vector<const LaunchPlan*> todo;
    for (const auto& [expression, plan] : plans()) {
      if (!is_one_more_product(expression)) todo.push_back(&plan);
    }
    return compile_those(todo);
  }();
  return all;
}

void check_clean(const std::map<std::string, Compiled>& kernels) {
  for (const auto& each : kernels) {
    const std::string& expression = each.first;
    const Compiled& one = each.second;
    CAPTURE(expression);
    CHECK_MESSAGE(one.kernel.report.clean(), one.kernel.report.objection());
    CHECK(one.kernel.report.stack == Bytes(0));
    const LaunchPlan& plan = plans().at(expression);
    CHECK(plan.shared <= 232448);
    CHECK(one.kernel.report.registers * static_cast<int>((plan.threads + 31) / 32 * 32) <= 65536);
  }
}

int count(const std::map<std::string, int>& opcodes, const std::string& opcode) {
  int sum = 0;
  for (const auto& [name, times] : opcodes) sum += name == opcode || name.starts_with(opcode + ".") ? times : 0;
  return sum;
}
int count(const Compiled& kernel, const std::string& opcode) { return count(kernel.opcodes, opcode); }

/// Checks that the compiler moved nothing of a chunk out of the loop over chunks: each loop with part of a chunk's work
/// has all of it.
void check_loops(const Compiled& kernel, const std::vector<std::pair<std::string, int>>& chunk) {
  for (const auto& loop : kernel.loops) {
    if (count(loop, "STS") > 0) continue;  // a loop of fill_shared(), which computes its own numbers
    const bool some =
        std::any_of(chunk.begin(), chunk.end(), [&](const auto& opcode) { return count(loop, opcode.first) > 0; });
    for (const auto& opcode : chunk)
      CHECK_MESSAGE((!some || count(loop, opcode.first) >= opcode.second),
                    opcode.first << ": " << count(loop, opcode.first) << " in a loop");
  }
}

}  // namespace

TEST_CASE("every experiment asks for kernels, and no name stands twice") {
  std::set<std::string_view> names;
  for (const Experiment& experiment : experiments()) {
    CHECK(names.insert(experiment.name).second);
    PlanningBench bench(h200());
    const Readings readings = experiment.run(bench);
    CAPTURE(experiment.name);
    CHECK_FALSE(readings.empty());
    CHECK(bench.plans().empty() == (experiment.name == "device_query"));
    for (const Reading& reading : readings) {
      CHECK(reading.experiment == experiment.name);
      CHECK_FALSE(reading.values.empty());
      CHECK_FALSE(reading.unit.empty());
    }
  }
}

TEST_CASE("no reading stands twice") {
  PlanningBench bench(h200());
  std::set<std::string> keys;
  for (const Experiment& experiment : experiments()) {
    for (const Reading& reading : experiment.run(bench)) {
      std::string key = reading.experiment + " " + reading.quantity;
      for (const auto& [name, value] : reading.with) key += " " + name + "=" + value;
      CHECK_MESSAGE(keys.insert(key).second, key);
    }
  }
}

TEST_CASE("micro-kernels compile, without spills and without complaint" * doctest::test_suite("compiling")) {
  check_clean(compiled());
}

TEST_CASE("inputs whose scores have a shape compile, of both types" * doctest::test_suite("compiling")) {
  const auto compiler = Compiler::find(toolkit_directories(""));
  if (!compiler) {
    std::puts("SKIP: no NVRTC on this machine");
    return;
  }
  for (const char* config : {".bf16 = true, .spike = true", ".bf16 = true, .spike = false",
                             ".bf16 = false, .spike = true", ".bf16 = false, .spike = false"}) {
    const std::string expression = std::string("napkin::shape_scores<napkin::ScoresConfig{") + config + "}>";
    const CompiledKernel kernel =
        compiler->compile({kernel_source("kernels/reference/scores.cuh"), expression, std::string(micro_gpu), {}});
    CAPTURE(expression);
    CHECK_MESSAGE(kernel.report.clean(), kernel.report.objection());
  }
}

TEST_SUITE("slow") {
  TEST_CASE("the other variants do, too") {
    std::vector<const LaunchPlan*> todo;
    for (const auto& [expression, plan] : plans()) {
      if (is_one_more_product(expression)) todo.push_back(&plan);
    }
    CHECK(todo.size() > 20);
    check_clean(compile_those(todo));
  }
}

TEST_CASE("a kernel holds the instructions that its experiment counts" * doctest::test_suite("compiling")) {
  // The instructions of one chunk, 8 chains by 16 repeats.
  const std::map<std::string, std::vector<std::pair<std::string, int>>> expected = {
      {"VectorWork::special_register", {{"CS2R", 128}}},
      {"VectorWork::ex2", {{"MUFU.EX2", 128}}},
      {"VectorWork::fma", {{"FFMA", 128}}},
      {"VectorWork::add", {{"FADD", 128}}},
      {"VectorWork::multiply", {{"FMUL", 128}}},
      {"VectorWork::maximum", {{"FMNMX", 128}}},
      {"VectorWork::logic", {{"LOP3", 128}}},
      {"VectorWork::fma16", {{"HFMA2", 128}}},
      {"VectorWork::convert", {{"F2FP.BF16", 128}}},
      {"VectorWork::convert_fp8", {{"F2FP.SATFINITE", 256}}},
      {"VectorWork::shuffle", {{"SHFL", 128}}},
      {"VectorWork::mix", {{"FFMA", 32}, {"FMNMX", 32}, {"MUFU.EX2", 32}, {"FADD", 32}}},
      {"VectorWork::softmax", {{"FFMA", 64}, {"FMNMX", 64}, {"MUFU.EX2", 64}, {"FADD", 64}, {"F2FP.BF16", 32}}},
      {"VectorWork::softmax_kept", {{"FFMA", 48}, {"MUFU.EX2", 48}, {"FADD", 48}, {"F2FP.BF16", 24}}},
      {"VectorWork::softmax_steps", {{"FFMA", 48}, {"MUFU.EX2", 48}, {"FADD", 48}, {"F2FP.BF16", 24}, {"PMTRIG", 16}}},
      {"VectorWork::ex2_fma", {{"MUFU.EX2", 128}, {"FFMA", 256}}},
      {"VectorWork::ex2_maximum", {{"MUFU.EX2", 128}, {"FMNMX", 128}}},
      {"VectorWork::maximum_fma", {{"FMNMX", 128}, {"FFMA", 256}}},
      {"VectorWork::load", {{"LDS.128", 128}}},
      {"VectorWork::store", {{"STS.128", 128}}},
      {"VectorWork::load_matrix", {{"LDSM.16.M88.4", 128}}},
      {"VectorWork::store_matrix", {{"STSM.16.M88.4", 128}}},
  };
  std::set<std::string> seen;
  for (const auto& each : compiled()) {
    const std::string& expression = each.first;
    const Compiled& one = each.second;
    if (one.opcodes.empty()) continue;
    CAPTURE(expression);
    const std::string work =
        field(expression, "work")
            .substr(std::min<std::size_t>(8, field(expression, "work").size()));  // without napkin::
    const bool synchronous = field(expression, "synchronous") == "true";
    const std::string product = field(expression, "e4m3") == "true" ? "QGMMA" : "HGMMA";
    if (const auto found = expected.find(work); found != expected.end() && synchronous) {
      // Of the loop's 64 products, or a few more: two and two with so many others among them.
      for (const auto& opcode : found->second) {
        const int among = std::stoi(field(expression, "among"));
        CHECK_MESSAGE(count(one, opcode.first) >= 32 * among, opcode.first << ": " << count(one, opcode.first));
        check_loops(one, {{opcode.first, 32 * among}});
      }
    } else if (found != expected.end()) {
      seen.insert(work);
      for (const auto& opcode : found->second)
        CHECK_MESSAGE(count(one, opcode.first) >= opcode.second, opcode.first << ": " << count(one, opcode.first));
      if (count(one, "MUFU.EX2") > 0) check_loops(one, found->second);
    }
    if (expression.find("agents<") != std::string::npos) {
      const int n = std::stoi(field(expression, "n")), groups = std::stoi(field(expression, "tensor_groups"));
      CHECK(count(one, product) == (groups > 0 && !synchronous ? (n > 64 ? 8 : 16) : 0));
      CHECK(count(one, "HMMA") == (synchronous ? (512 + n - 1) / n * n / 8 : 0));
      CHECK((count(one, "UTMALDG") > 0) == (field(expression, "copies") == "true"));
    }
    if (expression.find("products<") != std::string::npos)
      CHECK(count(one, product) == std::stoi(field(expression, "batch")));
  }
  if (has_disassembler() && !compiled().empty()) CHECK(seen.size() == expected.size());
}

TEST_CASE("memory, barriers and fences are in the kernels that time them" * doctest::test_suite("compiling")) {
  const std::vector<std::pair<std::string, std::vector<std::pair<std::string, int>>>> expected = {
      {"napkin::ChaseSpace::shared", {{"LDS", 8}}},
      {"napkin::ChaseSpace::cluster", {{"LD.E", 8}}},
      {"napkin::ChaseSpace::global", {{"LDG.E.STRONG.GPU", 8}}},
      {"napkin::StreamWay::read", {{"LDG.E.128.STRONG.GPU", 4}}},
      {"napkin::StreamWay::write", {{"STG.E.128", 4}}},
      {"napkin::StreamWay::copy", {{"LDG.E.128.STRONG.GPU", 4}, {"STG.E.128", 4}}},
      {"napkin::StreamWay::add", {{"REDG.E.ADD.F32", 4}}},
      {"ClusterConfig{.store = false}", {{"LD.E.128", 8}}},
      {"ClusterConfig{.store = true}", {{"ST.E.128", 8}}},
      {"async_copies<", {{"LDGSTS", 1}}},
      {"boxes<", {{"UTMALDG", 1}}},
      {"tiles<", {{"UTMALDG", 2}}},
      {"napkin::Meeting::barrier,", {{"BAR.SYNC", 1}}},
      {"napkin::Meeting::named_round,", {{"BAR.SYNC", 2}, {"BAR.ARV", 2}}},
      {"napkin::Meeting::mbarrier_round,", {{"SYNCS.ARRIVE", 2}, {"SYNCS.PHASECHK", 2}}},
      {"napkin::Meeting::fence,", {{"FENCE.VIEW.ASYNC", 1}}},
      {"napkin::Meeting::store_fence_barrier,", {{"STS", 1}, {"FENCE.VIEW.ASYNC", 1}, {"BAR.SYNC", 1}}},
  };
  for (const auto& wanted : expected) {
    bool seen = false;
    for (const auto& each : compiled()) {
      if (each.first.find(wanted.first) == std::string::npos || each.second.opcodes.empty()) continue;
      seen = true;
      for (const auto& opcode : wanted.second) {
        CHECK_MESSAGE(count(each.second, opcode.first) >= opcode.second,
                      each.first << " " << opcode.first << ": " << count(each.second, opcode.first));
      }
    }
    if (has_disassembler() && !compiled().empty()) CHECK_MESSAGE(seen, wanted.first);
  }
}

}  // namespace test_micro_kernels
