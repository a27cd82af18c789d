// What the three programs print keeps to the terminal's width, from 40 columns on.
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

// A narrow page holds the same words and figures, apart from where its lines end, and those that
// name a row once more in each band.
TEST_F(Width, cuts_nothing) {
  const auto words = [](const std::string& text) {
    std::istringstream stream(text);
    std::string joined;
    for (std::string word; stream >> word;) joined += word;
    return joined;
  };
  for (const Printed& what : everything()) {
    if (what.words.front() == "--help") continue;
    const std::string wide = printed(what);
    ::setenv("COLUMNS", "40", 1);
    const std::string narrow = printed(what);
    ::unsetenv("COLUMNS");
    EXPECT_GE(words(narrow).size(), words(wide).size()) << what.program << narrow;
  }
}

}  // namespace
}  // namespace ddpx
