// The parts of docs/results/decisions-cases.md: public reports of people who asked what to do or
// blamed the wrong part, and what the tool says from their own numbers
// (validation/decisions/cases.json).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/forecast.hpp"
#include "predict/options.hpp"
#include "predict/request.hpp"
#include "predict/result.hpp"

namespace ddpx::study {

// The numbers of one report, by the names of the file.
class Report {
 public:
  void add(const std::string& name, std::vector<double> values) { values_[name] = values; }
  [[nodiscard]] double operator()(const std::string& name, std::size_t index = 0) const {
    return values_.at(name).at(index);
  }
  [[nodiscard]] const std::vector<double>& list(const std::string& name) const {
    return values_.at(name);
  }

 private:
  std::map<std::string, std::vector<double>> values_;
};
using Reports = std::map<std::string, Report>;
[[nodiscard]] Reports read_reports(const std::string& path);

class Verdicts {
 public:
  // A number that is right between low and high.
  void number(std::string_view id, std::string_view asked, std::string_view reported,
              std::string_view right, double value, double low, double high,
              std::string_view reason = "");
  // Words, or a fact.
  void fact(std::string_view id, std::string_view asked, std::string_view reported,
            std::string_view right, std::string_view said, bool hit, std::string_view reason = "");
  // Not answered: counted as a miss.
  void open(std::string_view id, std::string_view asked, std::string_view right,
            std::string_view why);
  [[nodiscard]] std::string text() const;

 private:
  std::string rows_;
  std::size_t hits_ = 0;
  std::size_t misses_ = 0;
};

inline constexpr double kGb = 1e9;  // bytes, of a rate in GB/s

// A model known by its step on one GPU.
struct Question {
  std::string gpu;
  double parameters = 0;
  double step_s = 0;
  double batch = 1;
};

[[nodiscard]] Link link_named(const std::string& name);
// A pair's figures of GPUs without peer-to-peer access, whose ranks all cross host memory: what a
// link file with topology pcie_host says.
[[nodiscard]] Link through_host(const std::string& figures);
[[nodiscard]] Link nodes_of(const std::string& inside, const std::string& between,
                            NodeLayout layout);
[[nodiscard]] Forecast forecast_of(const Question& question, const Link& link, int gpus,
                                   const Strategy& strategy = {}, Scaling scaling = Scaling::weak);
// --diagnose as the program answers it.
// Machines and links that are shipped; no files.
[[nodiscard]] Resolvers shipped_names();
[[nodiscard]] DiagnosedRun diagnosed(const Options& options);
// As --diagnose takes it: "t1=0.75s,t2=1.33s".
[[nodiscard]] std::string steps_text(const std::vector<std::pair<int, double>>& seconds);

void speed_cases(const Reports& reports, Verdicts& verdicts);
void more_speed_cases(const Reports& reports, Verdicts& verdicts);
void curve_cases(const Reports& reports, Verdicts& verdicts);  // of docs/results/links.md
void cause_cases(const Reports& reports, Verdicts& verdicts);
void strategy_cases(const Reports& reports, Verdicts& verdicts);

}  // namespace ddpx::study
