// A validation in sentences and cells, for the terminal and the report alike.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/document.hpp"
#include "report/validation_facts.hpp"

namespace ddpx::report {

// The answer first: how far off the forecasts are, and whether that is within the tolerance.
[[nodiscard]] std::string headline(const ValidationFacts& facts);
[[nodiscard]] Callout::Tone tone(const ValidationFacts& facts);
// Whether any row has several GPUs.
[[nodiscard]] bool shares_work(const Comparison& comparison);
// Verdicts, intervals, baselines: a sentence each; of one GPU alone there are only intervals.
[[nodiscard]] std::vector<std::string> findings(const Comparison& comparison);

// "GPU-bound", "does not pay", "right".
[[nodiscard]] std::string words(Regime regime);
[[nodiscard]] std::string words(const std::optional<Verdict>& verdict);  // "-" without one
[[nodiscard]] std::string judgement(const ComparedRow& row);
// "60 of 62", or a dash where nothing was judged.
[[nodiscard]] std::string verdicts(const ErrorSummary& summary);
// The strategy, and what is not fp32 and SGD: "ddp,bucket=25MiB, bf16, adamw".
[[nodiscard]] std::string how(const Job& job);
// "mlp:width=4096,depth=8, batch 256, ddp,bucket=25MiB, 2 GPUs, pcie".
[[nodiscard]] std::string row_name(const ComparedRow& row);
// Where the error may come from, as far as the data say.
[[nodiscard]] std::string explanation(const ComparedRow& row);
// "4.1M (3.2M to 5.3M), between 2.1M and 8.5M, pays below".
[[nodiscard]] std::string crossings_text(const std::vector<Crossing>& crossings);

}  // namespace ddpx::report
