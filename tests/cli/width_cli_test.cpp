// What the three programs print keeps to the terminal's width, from 40 columns on.
#include <set>

#include "tests/support/lines.hpp"
#include "tests/support/program_test.hpp"

namespace ddpx {
namespace {

using Words = std::vector<std::string>;

struct Printed {
  const char* program;
  Words words;
};

const std::vector<Printed>& everything() {
  static const Words kNetwork{"--machine", "t4x2", "--network", "mlp:width=1024,depth=8"};
  const auto predict = [](Words words) {
    words.insert(words.end(), kNetwork.begin(), kNetwork.end());
    return Printed{"ddpx-predict", std::move(words)};
  };
  static const std::vector<Printed> kAll{
      {"ddpx-predict", {"--help"}},
      {"ddpx-predict", {"--list-links"}},
      {"ddpx-predict", {"--list-machines"}},
      {"ddpx-predict", {"--machine", "t4x2", "--link", "nvlink", "--crossover"}},
      predict({"--explain", "--imbalance", "10%", "--loader-rate", "100K"}),
      predict({"--gpus", "1,2,4,8", "--link", "pcie", "--link", "nvlink2", "--strategy", "ddp",
               "--strategy", "accumulate=8,compress=fp16,bucket=25MiB"}),
      predict({"--rank-strategies"}),
      predict({"--require", "speedup=1.5"}),
      predict({"--require", "communication-share=10%"}),
      predict({"--gpus", "1,2", "--samples", "90M", "--critical-batch", "4K", "--price", "0.5",
               "--learning-rate", "0.1"}),
      {"ddpx-predict",
       {"--gpu", "v100-sxm", "--diagnose", "t1=177ms,t2=310ms", "--params", "48M", "--link",
        "pcie3"}},
      {"ddpx-predict", {"--check-link", "tests/io/inputs/U039.txt", "--link", "nvlink4"}},
      {"ddpx-predict",
       {"--machine", "t4x2", "--infer-link", "t1=120ms,tn=180ms", "--params", "100M"}},
      {"ddpx-calibrate", {"--help"}},
      {"ddpx-calibrate", {"--from", "calibration/measurements/t4x2.json", "--dry-run"}},
      {"ddpx-validate", {"--help"}},
      {"ddpx-validate", {"--measured", "validation/runs/t4x2.json"}},
  };
  return kAll;
}

class Width : public testing::Test {
 protected:
  void TearDown() override { ::unsetenv("COLUMNS"); }

  static std::string printed(const Printed& what) {
    const test::ProgramResult result = test::run_program(what.program, what.words);
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 1) << result.err;
    return result.out;
  }
};

TEST_F(Width, is_the_terminals_from_40_to_80_columns) {
  for (const auto& [given, most] : {std::pair("40", 40U), {"5", 40U}, {"57", 57U}, {"200", 80U}}) {
    ::setenv("COLUMNS", given, 1);
    for (const Printed& what : everything()) {
      std::istringstream lines(printed(what));
      for (std::string line; std::getline(lines, line);)
        EXPECT_LE(line.size(), most) << what.program << " " << what.words.back() << ": " << line;
    }
  }
}

// A narrow page holds every word and figure of the wide one. A word may be broken behind a comma or
// slash, and in a table the lines of its cell stand among others': its parts are looked for alone.
TEST_F(Width, cuts_nothing) {
  const auto words = [](const std::string& text) {
    std::set<std::string> all;
    std::string word;
    for (const char c : text + " ") {
      const bool ends = c == ' ' || c == '\n';
      if (!ends) word += c;
      if (!ends && c != ',' && c != '/') continue;
      if (!word.empty()) all.insert(word);
      word.clear();
    }
    return all;
  };
  constexpr std::size_t kLongestWhole = 30;
  const auto squeezed = [](std::string text) {
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
    return text;
  };
  for (const Printed& what : everything()) {
    if (what.words.front() == "--help") continue;
    const std::string wide = printed(what);
    ::setenv("COLUMNS", "40", 1);
    const std::string narrow = printed(what);
    ::unsetenv("COLUMNS");
    const std::set<std::string> wanted = words(wide);
    const std::set<std::string> there = words(narrow);
    for (const std::string& word : wanted) {
      // Longer than a line it is broken inside.
      if (word.size() > kLongestWhole && squeezed(narrow).find(word) != std::string::npos) continue;
      EXPECT_TRUE(there.contains(word)) << what.program << " " << word << "\n" << narrow;
    }
  }
}

}  // namespace
}  // namespace ddpx
