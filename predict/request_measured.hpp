// A model known by --params and --step-time. Of request.cpp.
#pragma once

#include "predict/request.hpp"

namespace ddpx {

// The one network that every point of a batch sweep, or a list of networks, is made from.
[[nodiscard]] NetworkSeries one_network(Network network);

// Under strong scaling --step-time gives two steps, at the whole batch and at one rank's share of
// it: how much faster a smaller batch is cannot be told from the first. Throws InputError.
void use_measured_model(Query& query, const Options& options, const Resolvers& resolvers);

// Adds a warning for every network whose captured times are of another device than the query's
// machine: nothing carries them over.
void warn_of_captures(Query& query);

}  // namespace ddpx
