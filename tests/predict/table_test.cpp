#include "predict/table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "predict/explain.hpp"
#include "predict/words.hpp"
#include "tests/predict/small_machine.hpp"

namespace ddpx {
namespace {

using test::answer;

void expect_fits(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80U) << line;
    EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](char c) { return c >= 0x20 && c < 0x7f; }))
        << line;
    EXPECT_TRUE(line.empty() || line.back() != ' ') << "'" << line << "'";
  }
}

std::string unwrapped(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

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
  EXPECT_NE(text.find("between the sweep's points"), std::string::npos) << text;
}

TEST(Table, a_sweep_without_a_crossing_says_which_side_it_is_on) {
  Options o;
  o.links = {"fast"};
  EXPECT_NE(unwrapped(text_of(answer(o))).find("pays at every size swept"), std::string::npos);
}

TEST(Table, everything_that_varies_at_once_still_fits) {
  Options o;
  o.links = {"pcie", "fast"};
  o.gpus = "2,4,1048576";
  o.batch = "1,1000000000";
  o.networks = {"mlp:width=256", "mlp:width=8192,depth=16,classes=1000", "gpt:layers=2"};
  o.strategies = {"ddp",
                  "ddp,accumulate=8,compress=bf16,bucket=123.456MiB,first-bucket=7.5MiB,bucket-"
                  "view,channels=12"};
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
}

TEST(Explain, printed_terms_are_those_of_the_step_and_their_shares_add_up) {
  Options o;
  o.networks = {"mlp:width=4096"};
  o.strategies = {"ddp,accumulate=2,compress=fp16"};
  o.explain = true;
  const ForecastDocument document = answer(o);
  const Step& step = document.rows.front().forecast.step;
  double sum = 0;
  for (Seconds term : step.terms) sum += term.value();
  EXPECT_NEAR(sum, step.total().value(), 1e-15);
  EXPECT_NEAR(sum, document.rows.front().forecast.step_time_s.value, 1e-15);
  const std::string text = explanation_text(document, document.rows.front());
  double shares = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t percent = line.find(" %");
    if (percent == std::string::npos || line.starts_with("step")) {
      if (shares > 0) break;
      continue;
    }
    shares += std::stod(line.substr(line.rfind(' ', percent - 1)));
  }
  EXPECT_NEAR(shares, 100, 4);  // rounded, line by line
}

TEST(Explain, buckets_show_their_bandwidth_beside_the_peak) {
  Options o;
  o.networks = {"mlp:width=4096"};
  o.explain = true;
  const std::string text = text_of(answer(o));
  expect_fits(text);
  EXPECT_NE(text.find("bus bandwidth"), std::string::npos);
  EXPECT_NE(text.find("Bus bandwidth of a large message: 4.00 GB/s."), std::string::npos) << text;
  EXPECT_NE(text.find("all-reduce 2-9, each"), std::string::npos) << text;
  EXPECT_NE(text.find("Nothing lies outside the calibration."), std::string::npos) << text;
}

TEST(Explain, the_interval_names_its_largest_source_first) {
  Options o;
  o.networks = {"mlp:width=4096"};
  o.explain = true;
  const ForecastDocument document = answer(o);
  EXPECT_DOUBLE_EQ(document.rows.front().explanation->residual_half_width,
                   kNormalQuantile90 * 0.02);
  const std::string text = unwrapped(text_of(document));
  EXPECT_NE(text.find("the model's residual 3.3 %."), std::string::npos) << text;
  EXPECT_LT(text.find("can move it by: link"), text.find("compute 0")) << text;
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
