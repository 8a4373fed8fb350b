# Everything that Latecomer needs, set up; `docker run` shows the demo.
#
#     docker build -t latecomer . && docker run --rm latecomer
#     docker run --rm latecomer make test
FROM python:3.11-slim-bookworm
RUN apt-get update \
    && apt-get install -y --no-install-recommends git make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /latecomer
COPY . .
RUN make setup
CMD ["make", "demo"]
