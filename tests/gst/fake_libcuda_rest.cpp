// Functions that GStreamer's CUDA library loads but no test calls. They are in a separate file,
// without the driver's header, because they are declared without parameters.
#include <cstdio>
#include <cstdlib>

#define NOT_CALLED(name)                                             \
  extern "C" int name() {                                            \
    std::fprintf(stderr, "CUDA is misused: " #name " was called\n"); \
    std::abort();                                                    \
  }

NOT_CALLED(cuGLGetDevices_v2)
NOT_CALLED(cuGraphicsGLRegisterBuffer)
NOT_CALLED(cuGraphicsGLRegisterImage)
NOT_CALLED(cuGraphicsMapResources)
NOT_CALLED(cuGraphicsResourceGetMappedPointer_v2)
NOT_CALLED(cuGraphicsResourceSetMapFlags_v2)
NOT_CALLED(cuGraphicsSubResourceGetMappedArray)
NOT_CALLED(cuGraphicsUnmapResources)
NOT_CALLED(cuGraphicsUnregisterResource)
NOT_CALLED(cuLaunchKernel)
NOT_CALLED(cuModuleGetFunction)
NOT_CALLED(cuModuleLoadData)
NOT_CALLED(cuModuleUnload)
NOT_CALLED(cuTexObjectCreate)
NOT_CALLED(cuTexObjectDestroy)
