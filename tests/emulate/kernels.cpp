/* Every kernel file of the CUDA backend, compiled as C++ against the emulator. Each gets a namespace of its own, because in the real
 * build each is a translation unit of its own; what they include is included here first, outside. */
#include <limits.h>
#include <string.h>

#include "backends/cuda/columns.cuh"
#include "backends/cuda/heatmap.cuh"
#include "backends/cuda/mma.cuh"
#include "backends/cuda/norm.cuh"
#include "backends/cuda/sequence_lstm.cuh"
#include "backends/cuda/window.cuh"
#include "base/philox.h"
#include "ops/math/dropout_math.h"
#include "ops/math/fuse_math.h"
#include "ops/math/image_math.h"
#include "ops/math/lstm_math.h"
#include "ops/math/mask_math.h"
#include "ops/math/optim_math.h"
#include "ops/math/points_math.h"
#include "ops/math/schedule_math.h"

namespace activation {
#include "backends/cuda/activation.cu"
}
namespace channels {
#include "backends/cuda/channels.cu"
}
namespace conv {
#include "backends/cuda/conv.cu"
}
namespace conv_few {
#include "backends/cuda/conv_few.cu"
}
namespace ctc {
#include "backends/cuda/ctc.cu"
}
namespace depthwise {
#include "backends/cuda/depthwise.cu"
}
namespace distill {
#include "backends/cuda/distill.cu"
}
namespace elementwise {
#include "backends/cuda/elementwise.cu"
}
namespace fuse {
#include "backends/cuda/fuse.cu"
}
namespace heatmap {
#include "backends/cuda/heatmap.cu"
}
namespace heatmap_rows {
#include "backends/cuda/heatmap_rows.cu"
}
namespace image {
#include "backends/cuda/image.cu"
}
namespace linear {
#include "backends/cuda/linear.cu"
}
namespace loss {
#include "backends/cuda/loss.cu"
}
namespace metric {
#include "backends/cuda/metric.cu"
}
namespace muon {
#include "backends/cuda/muon.cu"
}
namespace norm_pool {
#include "backends/cuda/norm_pool.cu"
}
namespace norm_overlap {
#include "backends/cuda/norm_overlap.cu"
}
namespace norm_sum {
#include "backends/cuda/norm_sum.cu"
}
namespace norm {
#include "backends/cuda/norm.cu"
}
namespace optim {
#include "backends/cuda/optim.cu"
}
namespace points {
#include "backends/cuda/points.cu"
}
namespace pool {
#include "backends/cuda/pool.cu"
}
namespace sequence {
#include "backends/cuda/sequence.cu"
}
namespace sequence_lstm {
#include "backends/cuda/sequence_lstm.cu"
}
namespace sequence_lstm_mma {
#include "backends/cuda/sequence_lstm_mma.cu"
}
namespace resample {
#include "backends/cuda/resample.cu"
}
namespace softmax {
#include "backends/cuda/softmax.cu"
}
namespace spectrum {
#include "backends/cuda/spectrum.cu"
}
namespace standardize {
#include "backends/cuda/standardize.cu"
}
