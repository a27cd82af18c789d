#include "predict/request_learned.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "model/error.hpp"
#include "model/network_spec.hpp"
#include "model/quantity.hpp"
#include "predict/text.hpp"

namespace ddpx {
namespace {

// Far below what any change of a constant moves.
constexpr double kSameForecast = 1e-6;

std::string words_of(const StepKind& kind) {
  return std::string(kind.regime == Regime::host_bound ? "host-bound" : "GPU-bound") +
         " steps of " + shown(kind.model) + " over " + shown(kind.link) + " on " +
         std::to_string(kind.gpus) + " GPUs (" + std::string(name(kind.dtype)) + ", " +
         std::string(name(kind.optimizer)) + ", " +
         (kind.scaling == Scaling::strong ? "strong" : "weak") + ", " +
         std::string(name(kind.engine)) + (kind.graphs ? ", graphs" : "") + ")";
}

class Rejudged {
 public:
  Rejudged(const Query& query, const std::string& file) : query_(query), file_(file) {}

  // Nothing of a link that is not asked about, and of a network that cannot be made here.
  void add(const JudgedRow& row) {
    const Link* link = link_of(row.link);
    const Network* network = network_of(row.network);
    if (link == nullptr || network == nullptr) return;
    const Forecast f =
        point_forecast(query_.machine, products_of(row.job.dtype), *link, *network, row.job);
    if (std::abs(f.step_time_s.value / row.step_s - 1) > kSameForecast)
      throw InputError("--validation",
                       "'" + shown(file_) + "' judged a forecast of " +
                           time_text(Seconds(row.step_s)) + " for " + shown(row.network) +
                           " over " + shown(row.link) + " (" + describe(row.job.strategy) +
                           "), which is " + time_text(Seconds(f.step_time_s.value)) +
                           " now: the machine, the link or ddpx has changed; judge the runs again "
                           "(ddpx-validate --json)");
    steps_.push_back({kind_of(row.network, row.link, row.job, regime_of(f)), row.network,
                      row.job.strategy, row.job.batch_per_rank, row.measured_s / row.step_s,
                      row.speedup_ratio});
  }
  [[nodiscard]] Learned take() { return Learned(std::move(steps_)); }

 private:
  const Link* link_of(const std::string& link) const {
    const auto given = std::find_if(query_.links.begin(), query_.links.end(),
                                    [&](const Link& l) { return l.name == link; });
    return given != query_.links.end() ? &*given : query_.machine.find_link(link);
  }
  const Network* network_of(const std::string& network) {
    const auto known = networks_.find(network);
    if (known != networks_.end()) return &known->second;
    for (const NetworkSeries& series : query_.networks)
      if (series.sweep.empty() && series.name == network)
        return &networks_.emplace(network, series.at(0)).first->second;
    if (network.find(':') == std::string::npos) return nullptr;
    return &networks_.emplace(network, network_from(network)).first->second;
  }
  const ProductTable& products_of(DType dtype) {
    return products_.try_emplace(dtype, query_.machine, dtype).first->second;
  }

  const Query& query_;
  const std::string& file_;
  std::map<std::string, Network> networks_;
  std::map<DType, ProductTable> products_;
  std::vector<JudgedStep> steps_;
};

}  // namespace

void use_validation(Query& query, const Options& options, const Resolvers& resolvers) {
  if (!options.validation) return;
  if (options.validation->empty())
    throw InputError("--validation", "'' names no file; give one of ddpx-validate --json");
  Rejudged rejudged(query, *options.validation);
  for (const JudgedRow& row : resolvers.judged_rows(*options.validation, query.machine.name))
    rejudged.add(row);
  query.learned.emplace(rejudged.take());
}

void check_learned(const Query& query, const ForecastDocument& document) {
  if (!query.learned || document.rows.empty()) return;
  for (const ForecastRow& row : document.rows)
    if (row.forecast.learned) return;
  std::string has;
  for (const auto& [kind, steps] : query.learned->kinds())
    has += (has.empty() ? "" : "; ") + std::to_string(steps) + " " + words_of(kind);
  const ForecastRow& row = document.rows.front();
  throw InputError("--validation",
                   "cannot change the answer: asked for are " +
                       words_of(kind_of(row.network, row.link, row.job, regime_of(row.forecast))) +
                       " with " + describe(row.job.strategy) +
                       ", and there are no nine such steps, or none of that strategy; " +
                       (has.empty() ? "no kind has nine" : "it has " + has) + "; leave it out");
}

}  // namespace ddpx
