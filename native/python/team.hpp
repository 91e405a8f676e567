// core/team.hpp, compiled for any processor.
#pragma once

#define SCWLEARN_SET binding
#include "core/team.hpp"
#undef SCWLEARN_SET

namespace scwlearn {

using binding::Team;

}  // namespace scwlearn
