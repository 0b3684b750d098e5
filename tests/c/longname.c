/* longname N: asks a module for a function whose name has N bytes; that it is not there is no matter. */
#include "cuda_min.h"
#include <stdlib.h>
#include <string.h>
