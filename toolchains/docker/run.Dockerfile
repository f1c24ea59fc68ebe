# An image with the program, the elements, and the C and Python interfaces, from the packages of build/packages.
#
#   ./run package
#   docker build -f toolchains/docker/run.Dockerfile -t ocellus .
#   docker run --rm ocellus flow test:640x480,frames=10 --json
#   docker run --rm --gpus all ocellus devices                         # with NVIDIA's container toolkit
#   docker run --rm --entrypoint gst-launch-1.0 ocellus videotestsrc num-buffers=100 ! ocellusflow ! fakesink
ARG BASE=debian:12
FROM ${BASE}
COPY build/packages/*.deb /packages/
RUN apt-get update && \
    apt-get install --yes --no-install-recommends /packages/*.deb gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good && \
    rm -rf /var/lib/apt/lists/* /packages
# The driver's libraries that the container toolkit makes visible.
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility
ENTRYPOINT ["ocellus"]
CMD ["--help"]
