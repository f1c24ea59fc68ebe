# An image that builds Ocellus: ./run build, ./run test and ./run package work in it.
#
#   docker build -f toolchains/docker/build.Dockerfile -t ocellus-build .
#   docker run --rm -v "$PWD:/src" ocellus-build ./run package       # leaves build/packages/*.deb
#
# For the CUDA backend, give an image of Debian or Ubuntu with the toolkit:
#   docker build --build-arg BASE=nvidia/cuda:13.0.1-devel-ubuntu24.04 -f toolchains/docker/build.Dockerfile -t ocellus-build .
ARG BASE=debian:12
FROM ${BASE}
WORKDIR /src
COPY run run
COPY toolchains/packages toolchains/packages
RUN ./run packages build test demo package && rm -rf /var/lib/apt/lists/*
ENV PATH=/usr/local/cuda/bin:${PATH}
CMD ["./run", "build"]
