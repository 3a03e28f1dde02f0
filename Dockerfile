# tritune for running beside a Triton server: docker build -t tritune .
FROM node:24-slim AS package
WORKDIR /source
COPY package.json package-lock.json ./
# The build needs no install script of any dependency.
RUN npm ci --ignore-scripts
COPY . .
RUN npx tsc -p tsconfig.build.json \
  && mkdir /package \
  && npm pack --ignore-scripts --pack-destination /package

FROM node:24-slim
WORKDIR /opt/tritune
COPY --from=package /package/tritune-*.tgz /tmp/tritune.tgz
COPY package-lock.json ./
# What would be published, with the dependencies that were tested.
RUN tar -xzf /tmp/tritune.tgz --strip-components=1 \
  && rm /tmp/tritune.tgz \
  && npm ci --omit=dev --ignore-scripts \
  && npm cache clean --force \
  && chmod +x dist/cli/main.js dist/cli/perf-analyzer-main.js \
  && ln -s /opt/tritune/dist/cli/main.js /usr/local/bin/tritune \
  && ln -s /opt/tritune/dist/cli/perf-analyzer-main.js /usr/local/bin/tritune-perf-analyzer \
  && mkdir /runs && chown node:node /runs
USER node
WORKDIR /runs
ENTRYPOINT ["tritune"]
CMD ["--help"]
