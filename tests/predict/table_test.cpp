#include "predict/table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "predict/explain.hpp"
#include "predict/words.hpp"
#include "tests/predict/small_machine.hpp"
#include "tests/support/expect_fits.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/lines.hpp"

namespace ddpx {
namespace {

using test::answer;
using test::expect_fits;
using test::unwrapped;

TEST(Table, the_verdict_in_words_stands_above_the_numbers) {
  Options o;
  o.networks = {"mlp:width=1024"};
  o.links = {"fast"};
  const std::string text = text_of(answer(o));
  expect_fits(text);
  EXPECT_EQ(text.find("On 2 x Small GPU over fast, training mlp:width=1024,depth=8"), 0U) << text;
  EXPECT_LT(text.find(" pays: "), text.find("verdict\n"));
  EXPECT_NE(text.find("borrowed constant"), std::string::npos);
}

TEST(Table, a_sweep_says_where_it_stops_paying) {
  const std::string text = unwrapped(text_of(answer({})));
  EXPECT_NE(text.find("training mlp:depth=8 at batch 256 per rank pays below "), std::string::npos)
      << text;
}

TEST(Table, a_sweep_without_a_crossing_says_which_side_it_is_on) {
  Options o;
  o.links = {"fast"};
  EXPECT_NE(unwrapped(text_of(answer(o))).find("pays at every size swept"), std::string::npos);
}

TEST(Table, everything_that_varies_at_once_still_fits) {
  Options o;
  o.links = {"pcie", "fast"};
  o.inter_link = "fast";
  o.gpus = "2,4,512x8";
  o.batch = "1,1000000000";
  o.networks = {"mlp:width=256", "mlp:width=8192,depth=16,classes=1000", "gpt:layers=2"};
  o.strategies = {"ddp",
                  "ddp,accumulate=8,compress=bf16,bucket=123.456MiB,first-bucket=7.5MiB,bucket-"
                  "view,channels=2"};
  o.crossover = true;
  o.explain = true;
  const std::string text = text_of(answer(o));
  expect_fits(text);
  EXPECT_NE(text.find("verdict\n"), std::string::npos) << "the verdict is never left out";
}

TEST(Table, absurd_names_are_cut_and_cleaned) {
  ForecastDocument document = answer({});
  document.device = std::string(300, 'D') + "\xc3\xa9\n\x1b[31m";
  document.machine = std::string(300, 'M');
  for (ForecastRow& row : document.rows) {
    row.link = std::string(500, 'L') + (row.width == 256 ? "1" : "2");
    row.link_title = row.link;
    row.network = std::string(500, 'N') + "\t" + std::to_string(row.parameters);
    row.forecast.extrapolated = true;
    row.extrapolated = {std::string(400, 'x')};
    row.explanation = Explanation{};
  }
  expect_fits(text_of(document));
  document.crossovers.clear();
  expect_fits(text_of(document));
}

TEST(Table, absurd_numbers_still_fit) {
  ForecastDocument document = answer({});
  for (ForecastRow& row : document.rows) {
    row.parameters = 1e300;
    row.job.batch_per_rank = row.width.value() * 1e280;
    row.job.gpus = 2147483647;
    row.forecast.step_time_s = {1e-300, 1e-301, 1e300};
    row.forecast.speedup = {1e300, 1e-300, 1e301};
    row.break_even_batch_per_rank = 1e300;
  }
  expect_fits(text_of(document));
  EXPECT_NE(text_of(document).find("verdict\n"), std::string::npos)
      << "the verdict is never left out";
}

TEST(Table, strategies_are_compared_and_the_fastest_is_named) {
  Options o;
  o.networks = {"mlp:width=4096"};
  o.strategies = {"ddp", "ddp,accumulate=8"};
  const std::string text = text_of(answer(o));
  EXPECT_EQ(text.find("Fastest of 2 strategies: ddp,accumulate=8,"), 0U) << text;
}

TEST(Table, many_verdicts_end_in_how_many_are_left) {
  Options o;
  o.networks = {"mlp:width=1024"};
  o.gpus = "2,3,4,5,6,7,8,9,10,11";
  EXPECT_NE(text_of(answer(o)).find("(2 more verdicts: see the table)"), std::string::npos);
}

TEST(Table, one_gpu_has_a_step_and_no_verdict) {
  Options o;
  o.networks = {"mlp:width=1024"};
  o.gpus = "1";
  const std::string text = text_of(answer(o));
  EXPECT_EQ(text.find("On 1 x Small GPU, a step of mlp"), 0U) << text;
  EXPECT_EQ(text.find("too close"), std::string::npos);
  EXPECT_FALSE(answer(o).rows.front().forecast.verdict);
}

// Written by hand, so that the golden text holds the layout and no forecast.
ForecastRow row_by_hand(double width, double parameters, double seconds, Interval speedup) {
  ForecastRow row;
  row.network = "mlp:width=" + std::to_string(static_cast<int>(width)) + ",depth=8";
  row.parameters = parameters;
  row.width = width;
  row.link = "pcie3";
  row.link_title = "PCIe 3 x16, through host memory";
  row.machine = "box";
  Step& step = row.forecast.step;
  const auto set = [&](Term term, double share) {
    step.terms[static_cast<std::size_t>(term)] = Seconds(share * seconds);
    row.forecast.one_gpu_step.terms[static_cast<std::size_t>(term)] = Seconds(share * seconds);
  };
  set(Term::forward, 0.25);
  set(Term::backward, 0.5);
  step.terms[static_cast<std::size_t>(Term::exposed_communication)] = Seconds(0.25 * seconds);
  row.forecast.step_time_s = {seconds, 0.9 * seconds, 1.2 * seconds};
  row.forecast.speedup = speedup;
  row.forecast.samples_per_s = {512 / seconds, 400 / seconds, 600 / seconds};
  row.forecast.verdict = verdict_of(speedup);
  row.forecast.sensitivity = {0.01, 0.02, 0.03, 0, 0.0001, 0, 0.004};
  row.forecast.extrapolated = width > 2048;
  if (row.forecast.extrapolated) row.extrapolated = {"rank count: not measured"};
  row.rests_on = {"copy_bandwidth: prior: datasheet", "link pcie3: figures"};
  row.amdahl = Amdahl{0.8, 0};
  return row;
}

ForecastDocument document_by_hand() {
  ForecastDocument document;
  document.machine = "box";
  document.device = "Some GPU";
  document.rows = {row_by_hand(512, 2.13e6, 3.4e-3, {1.39, 1.33, 1.45}),
                   row_by_hand(1024, 8.46e6, 10.8e-3, {1.02, 0.95, 1.1}),
                   row_by_hand(4096, 135e6, 156e-3, {0.692, 0.659, 0.726})};
  CrossoverRow c;
  c.network = "mlp:depth=8";
  c.link = "pcie3";
  c.strategy = "ddp";
  c.batch_per_rank = 256;
  c.sweep_low = 2.13e6;
  c.sweep_high = 135e6;
  c.crossings = {{{8.9e6, 7.1e6, 12e6}, 8.46e6, 135e6, PaysSide::below}};
  document.crossovers = {c};
  return document;
}

TEST(Table, a_sweep_is_laid_out_as_the_golden_one) {
  ForecastDocument document = document_by_hand();
  Explanation e;
  e.collectives = {{Collective::all_reduce, 2, Bytes(1.05e6), Bytes(1.05e6), 2, 1, Seconds(290e-6),
                    BytesPerSecond(3.6e9), BytesPerSecond(4.05e9)}};
  for (int i = 0; i < 8; ++i) {
    e.collectives.push_back({Collective::all_reduce, 2, Bytes(67.1e6), Bytes(67.1e6), 2, 1,
                             Seconds(16.8e-3), BytesPerSecond(4e9), BytesPerSecond(4.05e9)});
  }
  e.peak_bus_bandwidth = BytesPerSecond(4.05e9);
  e.sent_per_rank = Bytes(538e6);
  e.residual_half_width = 0.033;
  document.rows.back().explanation = e;
  test::expect_golden("predict_table.txt", text_of(document));
}

TEST(Table, an_answer_with_a_break_even_batch_is_laid_out_as_the_golden_one) {
  ForecastDocument document = document_by_hand();
  document.crossovers.front().break_even_batch_per_rank = 283.2;
  document.rows[0].break_even_batch_per_rank = 1;
  document.rows[1].break_even_batch_per_rank = 255.0;
  document.rows[2].break_even_batch_per_rank = 283.2;
  test::expect_golden("predict_crossover.txt", text_of(document));
}

// A mark for every row that --explain would name, and none for the others.
TEST(Table, rows_outside_the_calibration_are_marked) {
  Options o;
  o.sweep = "width=128:16384";
  const ForecastDocument document = answer(o);
  const std::string text = text_of(document);
  std::size_t marked = 0;
  std::istringstream lines(text.substr(text.find("params")));
  for (std::string line; std::getline(lines, line);)
    marked += line.find("  ~") != std::string::npos ? 1 : 0;
  const auto outside =
      std::count_if(document.rows.begin(), document.rows.end(),
                    [](const ForecastRow& row) { return row.forecast.extrapolated; });
  EXPECT_GT(outside, 0);
  EXPECT_LT(static_cast<std::size_t>(outside), document.rows.size());
  EXPECT_EQ(marked, static_cast<std::size_t>(outside)) << text;
}

TEST(Csv, has_one_header_and_as_many_cells_in_every_row) {
  Options o;
  o.gpus = "2,4";
  const std::string text = csv_of(answer(o));
  std::istringstream lines(text);
  std::size_t rows = 0;
  std::size_t cells = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    ASSERT_EQ(line.back(), '\r');
    std::size_t count = 1;
    bool inside = false;
    for (char c : line) {
      if (c == '"') inside = !inside;
      if (c == ',' && !inside) ++count;
    }
    if (rows == 0) cells = count;
    EXPECT_EQ(count, cells) << line;
  }
  EXPECT_EQ(rows, 13U);
  EXPECT_EQ(text.find("network,parameters,width,batch_per_rank,gpus,nodes,link,strategy,scaling,"),
            0U);
}

TEST(Csv, quotes_what_would_break_a_row) {
  ForecastDocument document = answer({});
  document.rows.resize(1);
  document.rows.front().network = "a \"b\", c\nd";
  EXPECT_NE(csv_of(document).find("\"a \"\"b\"\", c\nd\","), std::string::npos);
  document.rows.front().network.clear();
  EXPECT_NE(csv_of(document).find("\r\n,"), std::string::npos);
}

TEST(Csv, numbers_read_back_to_the_same_value) {
  ForecastDocument document = answer({});
  document.rows.resize(1);
  const std::string text = csv_of(document);
  EXPECT_NE(text.find(",542784,256,256,2,1,pcie,ddp,weak,small,torch,fp32,sgd,"), std::string::npos)
      << text;
  const std::size_t at = text.find("sgd,") + 4;
  EXPECT_EQ(std::stod(text.substr(at)), document.rows.front().forecast.step_time_s.value);
}

}  // namespace
}  // namespace ddpx
