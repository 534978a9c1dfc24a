#pragma once

#include "ops/dims.h"
#include "ops/generate.h"
#include "ops/math.h"
#include "ops/movement.h"
#include "ops/nn.h"
#include "ops/structure.h"
