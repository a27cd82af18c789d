#include "tests/studies/decision_cases.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "io/catalog.hpp"
#include "model/error.hpp"
#include "model/gpu_type.hpp"
#include "nlohmann/json.hpp"
#include "predict/diagnose.hpp"
#include "predict/link_text.hpp"
#include "predict/measured.hpp"

namespace ddpx::study {

Reports read_reports(const std::string& path) {
  std::ifstream file(path);
  const nlohmann::json all = nlohmann::json::parse(file);
  Reports reports;
  for (const auto& one : all.at("cases")) {
    Report report;
    for (const auto& [name, value] : one.at("values").items()) {
      report.add(name, value.is_array() ? value.get<std::vector<double>>()
                                        : std::vector<double>{value.get<double>()});
    }
    reports[one.at("id").get<std::string>()] = report;
  }
  return reports;
}

void Verdicts::number(std::string_view id, std::string_view asked, std::string_view reported,
                      std::string_view right, double value, double low, double high,
                      std::string_view reason) {
  fact(id, asked, reported, right, fmt::format("{:.3g}", value), low <= value && value <= high,
       reason);
}

void Verdicts::fact(std::string_view id, std::string_view asked, std::string_view reported,
                    std::string_view right, std::string_view said, bool hit,
                    std::string_view reason) {
  (hit ? hits_ : misses_) += 1;
  rows_ += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", id, asked, reported, right, said,
                       hit ? "hit" : "**miss**", reason);
}

void Verdicts::open(std::string_view id, std::string_view asked, std::string_view right,
                    std::string_view why) {
  fact(id, asked, "", right, "not answered", false, why);
}

std::string Verdicts::text() const {
  return fmt::format("{} of {} are hit", hits_, hits_ + misses_) +
         ".\n\n| report | asked | reported | right | ddpx | | reason |\n"
         "| --- | --- | --- | --- | --- | --- | --- |\n" +
         rows_;
}

Link link_named(const std::string& name) {
  if (looks_like_figures(name)) return link_from_figures("--link", name);
  return io::find_link(name, Machine{}).link;
}

Link through_host(const std::string& figures) {
  Link link = link_named(figures);
  link.topology = Topology::pcie_host;
  return link;
}

Link nodes_of(const std::string& inside, const std::string& between, NodeLayout layout) {
  return two_level(link_named(inside), link_named(between), layout);
}

Forecast forecast_of(const Question& q, const Link& link, int gpus, const Strategy& strategy,
                     Scaling scaling) {
  const Machine machine = for_known_step(machine_of(*find_gpu_type(q.gpu)));
  Job job;
  job.gpus = gpus;
  job.batch_per_rank = q.batch;
  job.scaling = scaling;
  job.strategy = strategy;
  const Network network =
      measured_network(machine, job, {q.parameters, Seconds(q.step_s), q.batch});
  return forecast(machine, link, network, job);
}

Resolvers shipped_names() {
  Resolvers names;
  names.machine = [](const std::optional<std::string>& name) {
    return io::find_machine(name.value_or("t4x2"));
  };
  names.link = [](std::string_view, const std::optional<std::string>& name, const Machine&) {
    return link_named(name.value());
  };
  return names;
}

DiagnosedRun diagnosed(const Options& options) {
  return *diagnose(options, shipped_names()).diagnosed;
}

std::string steps_text(const std::vector<std::pair<int, double>>& seconds) {
  std::string text;
  for (const auto& [gpus, time] : seconds)
    text += fmt::format("{}t{}={}s", text.empty() ? "" : ",", gpus, time);
  return text;
}

}  // namespace ddpx::study
