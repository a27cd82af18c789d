#include "profiler/backend.hpp"

#include <cstdio>

namespace ddpx {
namespace {

std::string whole(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f", value);
  return text;
}

std::string words(const Product& p) {
  return std::string(name(p.dtype)) + " " + std::string(name(p.pass)) + " " + whole(p.rows) +
         " x " + whole(p.in) + " -> " + whole(p.out);
}

std::string words(const CollectiveCall& c) {
  return std::string(name(c.dtype)) + " " + std::string(name(c.kind)) + " of " +
         whole(c.bytes.value()) + " B" + (c.rested ? " after a pause" : "");
}

std::string words(const Copy& c) { return "copy of " + whole(c.bytes.value()) + " B"; }

std::string words(const OptimizerStep& o) {
  return std::string(name(o.optimizer)) + " of " + whole(o.parameters) + " parameters";
}

std::string words(const Elementwise& e) {
  return std::string(name(e.dtype)) + " " + std::string(name(e.kernel)) + " of " + whole(e.rows) +
         " x " + whole(e.columns);
}

std::string words(const Launch& /*unused*/) { return "launch"; }

}  // namespace

std::string describe(const Operation& operation) {
  return std::visit([](const auto& o) { return words(o); }, operation);
}

}  // namespace ddpx
