# docker build -t mowgli . && docker run --rm -v "$PWD:/tests:ro" mowgli litmus /tests
FROM rust:1.88-slim-bookworm AS build
WORKDIR /build
COPY . .
RUN cargo build --profile dist --locked -p mowgli

FROM debian:bookworm-slim
# `prove` asks the solver.
RUN apt-get update && apt-get install -y --no-install-recommends z3 && rm -r /var/lib/apt/lists/*
COPY --from=build /build/target/dist/mowgli /usr/local/bin/mowgli
USER nobody
WORKDIR /tests
ENTRYPOINT ["mowgli"]
