// Answers to --require fed back, over random machines, links, networks and strategies, for every
// unknown. The yardstick is the forward forecast of the changed question, which knows nothing of
// how the answer was found.
#include <gtest/gtest.h>

#include <map>

#include "model/scaled_link.hpp"
#include "predict/link_text.hpp"
#include "predict/query.hpp"
#include "predict/request_decisions.hpp"
#include "tests/model/random_step.hpp"

namespace ddpx {
namespace {

constexpr int kSettings = 120;

// A question of the random setting: over one link, of one network.
Query question_of(const test::Setting& s) {
  Query query;
  query.machine = s.machine;
  query.links = {s.link};
  query.links.front().name = "random";
  query.gpus = {{1, s.job.gpus}};
  query.batches = {s.job.batch_per_rank};
  query.strategies = {s.job.strategy};
  query.job = s.job;
  NetworkSeries series;
  series.name = s.network.name;
  series.at = [network = s.network](double) { return network; };
  series.size = size_of(s.network.name);
  query.networks = {series};
  return query;
}

double metric_of(const Requirement& requirement, const Query& query) {
  const ForecastRow row = run(query).rows.front();
  switch (requirement.metric) {
    case Metric::speedup:
      return row.forecast.speedup.value;
    case Metric::efficiency:
      return row.forecast.speedup.value / row.job.gpus;
    case Metric::communication_share:
      break;
  }
  return row.forecast.step.communication_share();
}

// The question with the unknown at `value`.
Query changed(Query query, Unknown unknown, double value, double now) {
  Link& link = query.links.front();
  Network network = query.networks.front().at(0);
  switch (unknown) {
    case Unknown::link_bandwidth:
      link = with_bandwidth(link, value / now);
      break;
    case Unknown::link_latency:
      link = with_latency(link, value / now);
      break;
    case Unknown::batch_per_rank:
      query.batches = {value};
      break;
    case Unknown::accumulation:
      query.strategies.front().micro_batches = static_cast<int>(value);
      break;
    case Unknown::model_size:
      network = query.networks.front().size->at(value);
      query.networks.front().at = [network](double) { return network; };
      break;
    case Unknown::gpus:
      query.gpus = {{1, static_cast<int>(value)}};
      break;
  }
  return query;
}

// A requirement around what the setting has now.
Requirement random_requirement(test::Random& random, const Query& query) {
  Requirement requirement;
  requirement.metric = static_cast<Metric>(random.count(0, 2));
  const double now = metric_of(requirement, query);
  requirement.value = now * random.between(0.7, 1.3);
  if (requirement.metric != Metric::speedup) requirement.value = std::min(requirement.value, 1.0);
  if (!(requirement.value > 0)) requirement.value = 0.1;
  return requirement;
}

TEST(EveryAnswer, fed_back_gives_what_it_says_and_that_meets_the_requirement) {
  test::Random random(8);
  std::map<Unknown, int> fed;
  int exact = 0;
  int jumps = 0;
  for (int i = 0; i < kSettings; ++i) {
    test::Setting s = test::random_setting(random);
    if (s.job.gpus < 2 || !s.job.strategy.sync || s.job.strategy.hybrid) continue;
    Query query = question_of(s);
    const Requirement requirement = random_requirement(random, query);
    Query asked = query;
    asked.requirements = {requirement};
    const RequirementRow answer = run(asked).requirements.front();
    for (const UnknownRow& row : answer.unknowns) {
      if (row.solution.outcome != Outcome::boundary) continue;
      const std::string what = "setting " + std::to_string(i) + ": " + describe(requirement) +
                               " by " + row.what + " " + describe(s.job.strategy);
      const double there =
          metric_of(requirement, changed(query, row.unknown, row.solution.value, row.now));
      EXPECT_NEAR(there, row.solution.reached, 1e-9 * std::abs(there)) << what;
      EXPECT_TRUE(requirement.met_by(there)) << what;
      EXPECT_FALSE(requirement.met_by(row.solution.beyond)) << what;
      ++fed[row.unknown];
      const bool link =
          row.unknown == Unknown::link_bandwidth || row.unknown == Unknown::link_latency;
      if (!link) continue;  // whole numbers: none gives exactly what is required
      if (row.solution.jumps(requirement)) {
        ++jumps;
      } else {
        EXPECT_NEAR(there, requirement.value, 1e-3 * requirement.value) << what;
        ++exact;
      }
      if (row.flags.empty()) continue;
      Query figures = query;
      figures.links = {link_from_figures("--link", row.flags.substr(7))};
      const double by_figures = metric_of(requirement, figures);
      EXPECT_NEAR(by_figures, row.flags_reached, 1e-9 * std::abs(by_figures)) << what << row.flags;
      EXPECT_TRUE(requirement.met_by(by_figures)) << what << " " << row.flags;
    }
  }
  for (const Unknown unknown :
       {Unknown::link_bandwidth, Unknown::link_latency, Unknown::batch_per_rank,
        Unknown::accumulation, Unknown::model_size, Unknown::gpus})
    EXPECT_GE(fed[unknown], 5) << name(unknown);
  EXPECT_GE(exact, 30);
  EXPECT_LE(jumps, exact) << "most answers are what was asked for";
}

}  // namespace
}  // namespace ddpx
