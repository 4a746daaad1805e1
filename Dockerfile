# Parcade on a CPU: docker build -t parcade . && docker run --rm -it --shm-size 1g parcade train
#
# Where your package index offers a CPU build of torch, the image is gigabytes smaller:
# docker build --build-arg PIP_EXTRA_INDEX_URL=… -t parcade .
FROM python:3.11-slim-bookworm

ARG PIP_EXTRA_INDEX_URL=""
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONUNBUFFERED=1

COPY tools/apt-install.sh /tmp/apt-install.sh
RUN sh /tmp/apt-install.sh libmgba0.10 && rm -rf /var/lib/apt/lists/*

WORKDIR /tmp/parcade
COPY constraints.txt ./
RUN python -m pip install -c constraints.txt torch

COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m pip install -c constraints.txt '.[view]' && rm -rf /tmp/parcade/build

RUN useradd --create-home parcade
USER parcade
WORKDIR /home/parcade
RUN mkdir results && parcade doctor
ENTRYPOINT ["parcade"]
CMD ["--help"]
