// Which options exclude one another, or have no effect beside others.
#include <array>
#include <string_view>

#include "model/error.hpp"
#include "predict/request.hpp"
#include "predict/request_gpus.hpp"

namespace ddpx {
namespace {

struct Given {
  const char* flag;
  bool given;
};

// Every option that takes part in a forecast, and whether it was given.
std::vector<Given> forecast_options(const Options& o) {
  return {{"--machine", o.machine.has_value()},
          {"--gpu", o.gpu.has_value()},
          {"--validation", o.validation.has_value()},
          {"--link", !o.links.empty()},
          {"--inter-link", o.inter_link.has_value()},
          {"--nics", o.nics.has_value()},
          {"--gpus", o.gpus.has_value()},
          {"--network", !o.networks.empty()},
          {"--params", o.params.has_value()},
          {"--step-time", o.step_time.has_value()},
          {"--batch", o.batch.has_value()},
          {"--sweep", o.sweep.has_value()},
          {"--engine", o.engine.has_value()},
          {"--dtype", o.dtype.has_value()},
          {"--optimizer", o.optimizer.has_value()},
          {"--scaling", o.scaling.has_value()},
          {"--strategy", !o.strategies.empty()},
          {"--loader-rate", o.loader_rate.has_value()},
          {"--imbalance", o.imbalance.has_value()},
          {"--straggler", o.straggler.has_value()},
          {"--samples", o.samples.has_value()},
          {"--critical-batch", o.critical_batch.has_value()},
          {"--learning-rate", o.learning_rate.has_value()},
          {"--rate-rule", o.rate_rule.has_value()},
          {"--price", o.price.has_value()},
          {"--deadline", o.deadline.has_value()},
          {"--diagnose", o.diagnose.has_value()},
          {"--rank-compute", o.rank_compute.has_value()},
          {"--rank-wall", o.rank_wall.has_value()},
          {"--rank-data", o.rank_data.has_value()},
          {"--check-link", o.check_link.has_value()},
          {"--infer-link", o.infer_link.has_value()},
          {"--crossover", o.crossover},
          {"--rank-strategies", o.rank_strategies},
          {"--gpu-memory", o.gpu_memory.has_value()},
          {"--require", !o.requirements.empty()},
          {"--explain", o.explain},
          {"--csv", o.csv},
          {"--json", o.json}};
}

void refuse_beside(const Options& options, const char* mode, std::string_view does,
                   std::initializer_list<std::string_view> allowed) {
  for (const Given& option : forecast_options(options)) {
    if (!option.given) continue;
    bool fits = false;
    for (std::string_view flag : allowed) fits = fits || flag == option.flag;
    if (!fits)
      throw InputError(option.flag, "cannot change what " + std::string(mode) + " " +
                                        std::string(does) + "; leave it out");
  }
}

void refuse(bool given, const char* flag, const std::string& why) {
  if (given) throw InputError(flag, why);
}

// Strategies side by side, and requirements: what of a forecast they leave no room for.
void check_decisions(const Options& o) {
  const bool require = !o.requirements.empty();
  if (!o.rank_strategies && !require) return;
  refuse(o.rank_strategies && require, "--require",
         "and --rank-strategies are two questions; give one of them");
  const char* mode = require ? "--require" : "--rank-strategies";
  const std::string why = "cannot change what " + std::string(mode) +
                          (require ? " finds" : " compares") + "; leave it out";
  refuse(o.crossover, "--crossover", why);
  refuse(o.explain, "--explain", why);
  refuse(o.samples.has_value(), "--samples", why);
  refuse(o.critical_batch.has_value(), "--critical-batch", why);
  refuse(o.learning_rate.has_value(), "--learning-rate", why);
  refuse(o.rate_rule.has_value(), "--rate-rule", why);
  refuse(o.price.has_value(), "--price", why);
  refuse(o.deadline.has_value(), "--deadline", why);
  refuse(o.validation.has_value(), "--validation", why);
  refuse(o.csv, "--csv", "has no form for " + std::string(mode) + "; use --json or text");
  refuse(o.rank_strategies && !o.strategies.empty(), "--strategy",
         "cannot change what --rank-strategies compares, which is all of them; leave it out");
  refuse(require && o.sweep, "--sweep",
         "varies what --require solves for; leave it out and name one --network");
}

// What judged steps had none of.
void check_validation(const Options& o) {
  if (!o.validation || o.infer_link || o.diagnose) return;
  const std::string unlike = "cannot change the answer: no judged step had ";
  refuse(o.imbalance || o.straggler, "--validation",
         unlike + "--imbalance or --straggler; leave it out");
  refuse(o.params.has_value(), "--validation", unlike + "a model known by --params; leave it out");
  refuse(o.gpu.has_value(), "--validation", unlike + "a GPU that was not measured; leave it out");
}

void check_measured_model(const Options& o) {
  if (o.step_time && !o.params)
    throw InputError("--step-time", "needs --params, the size of the model that was timed");
  if (!o.params || o.infer_link || o.diagnose) return;
  if (!o.step_time)
    throw InputError("--params",
                     "needs --step-time, the measured step on one GPU; or name a --network");
  if (!o.networks.empty())
    throw InputError("--params", "describes the model, and so does --network; give one of them");
  if (!o.batch)
    throw InputError("--params", "needs --batch, the batch at which --step-time was measured");
  if (o.batch->find(',') != std::string::npos) {
    throw InputError("--batch", "'" + *o.batch +
                                    "' must be the one batch at which --step-time was measured; "
                                    "vary it by --sweep batch=LOW:HIGH");
  }
  if (o.dtype)
    throw InputError("--dtype",
                     "cannot change the answer: --step-time was measured in the model's own dtype; "
                     "leave it out");
  if (o.sweep && !o.sweep->starts_with("batch=")) {
    throw InputError(
        "--sweep",
        "can vary only the batch of a model known by --params; accepted: batch=LOW:HIGH");
  }
}

void check_diagnosis(const Options& o) {
  if (o.diagnose) {
    refuse_beside(
        o, "--diagnose", "says",
        {"--diagnose", "--rank-compute", "--rank-wall", "--rank-data", "--loader-rate", "--batch",
         "--params", "--network", "--link", "--inter-link", "--nics", "--gpus", "--machine",
         "--gpu", "--engine", "--optimizer", "--scaling", "--strategy", "--json"});
    return;
  }
  const auto alone = [](const char* flag, bool given) {
    if (given)
      throw InputError(flag, "is a measurement that only --diagnose looks at; add --diagnose");
  };
  alone("--rank-compute", o.rank_compute.has_value());
  alone("--rank-wall", o.rank_wall.has_value());
  alone("--rank-data", o.rank_data.has_value());
}

void check_decision(const Options& o) {
  if (o.deadline && !o.samples)
    throw InputError("--deadline", "needs --samples, how long the run is");
  if (o.deadline && (o.networks.size() > 1 || (o.sweep && !o.sweep->starts_with("batch="))))
    throw InputError("--deadline",
                     "chooses a plan for one network; give one --network and no "
                     "--sweep of its size");
  if (o.rate_rule && !o.learning_rate && !o.critical_batch)
    throw InputError("--rate-rule",
                     "needs --learning-rate, the rate at one GPU's batch, or --critical-batch");
}

// How the ranks of a log are spread over nodes.
void check_nodes_of_a_log(const Options& o) {
  if (o.inter_link) {
    // Without --gpus the log's own rank lines may say it.
    if (o.gpus && o.links.empty() && !alone_in_nodes(gpus_of(o)))
      throw InputError("--inter-link", "joins nodes, and what is inside each is missing: --link");
    return;
  }
  if (o.gpus && !o.links.empty() && alone_in_nodes(gpus_of(o)))
    throw InputError("--gpus",
                     "'" + shown(*o.gpus) +
                         "' has one GPU in each node, where nothing travels over a --link; "
                         "give what joins the nodes by --inter-link in place of it");
  if (o.gpus && o.gpus->find('x') != std::string::npos)
    throw InputError("--gpus", "'" + shown(*o.gpus) +
                                   "' spreads the log's ranks over nodes; add --inter-link, what "
                                   "joins the nodes");
  if (o.gpus)
    throw InputError("--gpus",
                     "says only beside --inter-link what --check-link needs, how a log's ranks are "
                     "spread over nodes; leave it out");
  if (o.nics) throw InputError("--nics", "counts NICs of --inter-link, which is missing");
}

}  // namespace

void check(const Options& o) {
  if (o.list_links && o.list_machines)
    throw InputError("--list-links", "and --list-machines are two questions; give one of them");
  if (o.list_links) refuse_beside(o, "--list-links", "prints", {});
  if (o.list_machines) refuse_beside(o, "--list-machines", "prints", {});
  if (o.check_link) {
    refuse_beside(
        o, "--check-link", "says",
        {"--check-link", "--link", "--inter-link", "--gpus", "--nics", "--machine", "--json"});
    check_nodes_of_a_log(o);
    if (o.links.size() > 1)
      throw InputError("--link", "names what the box should have; give it once");
  }
  if (o.csv && o.json)
    throw InputError("--csv", "and --json are two formats of one answer; give one of them");
  if (o.csv && o.explain)
    throw InputError(
        "--explain",
        "cannot change what --csv prints (its columns hold the terms already); use --json or text");
  if (o.infer_link) {
    refuse_beside(o, "--infer-link", "finds",
                  {"--infer-link", "--params", "--gpus", "--machine", "--gpu", "--engine",
                   "--optimizer", "--scaling", "--batch", "--strategy", "--straggler", "--json"});
    if (!o.params)
      throw InputError("--infer-link",
                       "needs --params, the number of parameters whose gradients are exchanged");
  }
  check_validation(o);
  check_decisions(o);
  check_diagnosis(o);
  check_decision(o);
  check_measured_model(o);
  if (o.sweep && o.sweep->starts_with("batch=")) {
    if (o.networks.empty() && !o.params)
      throw InputError("--sweep",
                       "'" + *o.sweep + "' needs a --network (or --params) whose batch it varies");
    if (o.batch && !o.params)
      throw InputError("--batch",
                       "cannot change the answer: --sweep varies the batch; leave one of them out");
  }
}

}  // namespace ddpx
