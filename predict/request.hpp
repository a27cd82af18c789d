// From the words of the command line to a query. Every contradiction is an error here, and so is an
// option that cannot change the answer asked for: a flag silently ignored makes a wrong forecast
// look like the one that was asked for.
#pragma once

#include <functional>
#include <string_view>

#include "predict/options.hpp"
#include "predict/query.hpp"

namespace ddpx {

// How names become machines, links and networks; the program reads files and shipped data, a test
// has its own.
struct Resolvers {
  std::function<Machine(const std::optional<std::string>& name)> machine;
  // Without a name: the link to take when none is asked for. `place` is what named it, "--link".
  std::function<Link(std::string_view place, const std::optional<std::string>& name,
                     const Machine& machine)>
      link;
  std::function<Network(const std::string& path)> network_file;
  std::function<Prices(const std::string& path)> price_file;
  std::function<std::vector<JudgedRow>(const std::string& path, const std::string& machine)>
      judged_rows;
  std::function<std::string(const std::string& path)> text_file;
};

// The network of a bare question ("--link nvlink"): the published study of two T4s, an MLP of depth
// 8 swept over its width.
inline constexpr const char* kDefaultNetwork = "mlp:depth=8";
inline constexpr const char* kDefaultSweep = "width=256:8192";
inline constexpr double kDefaultBatch = 256;

// Checks what needs no file: lists and formats that exclude one another, options without effect.
// Called first, so that a contradiction is reported even where a file is missing.
void check(const Options& options);

// Whether a --network is a path; what is none is meant as a generator, and refused as one when it
// is misspelt.
[[nodiscard]] bool is_file(std::string_view text);

// Scaling, dtype, optimizer and engine.
[[nodiscard]] Job job_of(const Options& options);
// Samples of --batch: a whole number.
[[nodiscard]] double batch_of(const std::string& word);

// Throws InputError. Calls check() first.
[[nodiscard]] Query query_from(const Options& options, const Resolvers& resolvers);

// The answer to --infer-link. Throws InputError, and UnmetError where no link explains the steps.
[[nodiscard]] ForecastDocument infer(const Options& options, const Resolvers& resolvers);

}  // namespace ddpx
