// Two H200s of one host, twice, at seven questions at which nothing had been measured (cards/), in bursts and
// sustained; and each card's readings of napkin calibrate --power (cards_power/), whose factor removes the cards'
// difference.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "apps/report/record/reading.hpp"
#include "model/base/yaml.hpp"
#include "model/machine/calibrate/calibration.hpp"
#include "model/machine/load.hpp"
#include "model/machine/write.hpp"
#include "tests/measured/row.hpp"

namespace test_cards {

using cli::Json;
using namespace napkin;
using namespace napkin::internal;

namespace {

bool is_burst(const Json& row) { return row.contains("conditions"); }

double time_of(const Json& row, const std::string& gpu) {
  const std::string load = is_burst(row) ? " --load burst" : "";
  std::vector<std::string> ask = cli::words_of("query " + row["algorithm"].get<std::string>() + " --gpu " + gpu +
                                               " --json --kernel " + row["kernel"].get<std::string>() + " --shape " +
                                               cli::pairs(row["shape"]) + " --tile " + cli::pairs(row["tile"]) + load);
  if (row["mask"] == "causal") ask.emplace_back("--causal");
  return cli::asked(ask)["predicted"]["time"];
}

/// Returns the errors of the times of a card's rows under that load, by the profile.
std::vector<double> errors(const std::string& file, const std::string& gpu, bool burst) {
  std::vector<double> out;
  for (const Json& row : measured::rows_of("cards/" + file)) {
    if (is_burst(row) != burst) continue;
    out.push_back(time_of(row, gpu) / row["measured"]["time"].get<double>() - 1);
  }
  REQUIRE(out.size() == 7);
  return out;
}

double mean_size(const std::vector<double>& errors) {
  double sum = 0;
  for (const double error : errors) sum += std::abs(error);
  return sum / static_cast<double>(errors.size());
}

double mean(const std::vector<double>& errors) {
  double sum = 0;
  for (const double error : errors) sum += error;
  return sum / static_cast<double>(errors.size());
}

/// Fits the card's readings and writes its profile.
std::string card_profile(const cli::Folder& folder, const std::string& file, double& factor) {
  const std::string path = (measured::root / ("cards_power/" + file)).string();
  Readings readings;
  for (report::ReadingRow& row : report::parse_readings(yaml::read_file(path), path))
    readings.push_back(std::move(row.reading));
  const Calibration found = calibrate(load_machine("h200-sxm", "--gpu"), readings, {"test", "2026-11-28", "580"});
  factor = found.machine.constant("energy_of_card");
  return folder.file(file + ".yaml", profile_files(found.machine).product);
}

const std::vector<std::string> cards = {"first_0.jsonl", "first_1.jsonl", "second_0.jsonl", "second_1.jsonl"};

}  // namespace

TEST_CASE("seven new questions on each of four H200s: time within 5 % in the mean, in bursts and sustained") {
  for (const std::string& card : cards) {
    const double sustained = mean_size(errors(card, "h200-sxm", false)),
                 burst = mean_size(errors(card, "h200-sxm", true));
    MESSAGE(card << ": sustained " << 100 * sustained << " %, burst " << 100 * burst << " %");
    CHECK(sustained <= 0.02);
    CHECK(burst <= 0.03);
  }
}

TEST_CASE("a card's own factor: the sizes of four cards' errors at the power limit are less with it") {
  const cli::Folder folder;
  double product_size = 0, own_size = 0;
  std::vector<double> factors, product;
  for (const std::string& card : cards) {
    double factor = 0;
    const std::string profile = card_profile(folder, card, factor);
    const std::vector<double> by_product = errors(card, "h200-sxm", false), by_card = errors(card, profile, false);
    factors.push_back(factor);
    product.push_back(mean(by_product));
    product_size += mean_size(by_product) / static_cast<double>(cards.size());
    own_size += mean_size(by_card) / static_cast<double>(cards.size());
    MESSAGE(card << ": factor " << factor << ", by the product " << 100 * mean(by_product) << " % (size "
                 << 100 * mean_size(by_product) << " %), by the card " << 100 * mean(by_card) << " % (size "
                 << 100 * mean_size(by_card) << " %)");
    CHECK(std::abs(factor - 1) < 0.05);
  }
  MESSAGE("sizes " << 100 * product_size << " % by the product and " << 100 * own_size << " % by the cards");
  CHECK(own_size < product_size);
  // The product's profile underestimates times most on the card that takes the most power.
  const auto most = std::max_element(factors.begin(), factors.end()) - factors.begin();
  CHECK(product[static_cast<std::size_t>(most)] == *std::min_element(product.begin(), product.end()));
}

}  // namespace test_cards
