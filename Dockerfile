# Nadi with the vocabularies of GPT-2 and BERT. Its steps are the Makefile's.
FROM debian:bookworm-slim AS build
RUN apt-get update && apt-get install --yes --no-install-recommends make && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN make dependencies
RUN make build
RUN make install PREFIX=/usr/local
RUN make vocab

FROM debian:bookworm-slim
RUN apt-get update && apt-get install --yes --no-install-recommends make && rm -rf /var/lib/apt/lists/*
WORKDIR /nadi
COPY Makefile Makefile
COPY scripts scripts
RUN ln -s scripts/run_gpt2.sh scripts/run_bert.sh scripts/run_all_experiments.sh .
RUN make runtime-dependencies && rm -rf /var/lib/apt/lists/*
COPY --from=build /usr/local/bin/nadi /usr/local/bin/nadi
COPY --from=build /usr/local/lib/nadi /usr/local/lib/nadi
COPY --from=build /src/cache cache
ENTRYPOINT ["nadi"]
CMD ["--help"]
